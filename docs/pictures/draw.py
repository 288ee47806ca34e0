"""Boxes, arrows and text as SVG: what the pictures beside this file are drawn
with.  Every picture has a white ground, so it reads on dark pages too."""

from html import escape

INK, GREY, FAINT = "#1f2933", "#66717d", "#d5dbe1"
BLUE, GREEN, ORANGE = "#dbe9f8", "#def2e0", "#fdebd0"
RED, VIOLET, PLAIN = "#f9dcd9", "#e8e0f5", "#f4f6f8"
DEEP = {BLUE: "#2f6db3", GREEN: "#3a8f46", ORANGE: "#c77a16", RED: "#c0392b",
        VIOLET: "#7350b0", PLAIN: "#66717d"}


class Picture:
    def __init__(self, width, height, title):
        self.size = width, height
        self.title = title
        self.out = []

    def rect(self, x, y, w, h, fill=PLAIN, line=None, r=5, dash=None, width=1.4):
        line = line or DEEP.get(fill, INK)
        extra = f' stroke-dasharray="{dash}"' if dash else ""
        self.out.append(
            f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="{r}" '
            f'fill="{fill}" stroke="{line}" stroke-width="{width}"{extra}/>')

    def text(self, x, y, words, size=14, at="middle", fill=INK, bold=False,
             mono=False):
        """Lines of text, the first with its baseline at y."""
        style = ' font-weight="bold"' if bold else ""
        if mono:
            style += ' font-family="DejaVu Sans Mono, Menlo, monospace"'
        for i, line in enumerate(words.split("\n")):
            self.out.append(
                f'<text x="{x:g}" y="{y + i * size * 1.3:g}" '
                f'font-size="{size}" text-anchor="{at}" fill="{fill}"{style}>'
                f"{escape(line, False)}</text>")

    def box(self, x, y, w, h, head, body="", fill=PLAIN, size=15, small=12,
            dash=None, mono=False):
        """A box with a bold head and smaller lines below it, centred."""
        self.rect(x, y, w, h, fill, dash=dash)
        heads = head.count("\n") + 1 if head else 0
        lines = body.count("\n") + 1 if body else 0
        tall = heads * size * 1.3 + lines * small * 1.3
        top = y + (h - tall) / 2
        if head:
            self.text(x + w / 2, top + size, head, size, bold=True, mono=mono)
        if body:
            self.text(x + w / 2, top + heads * size * 1.3 + small, body, small,
                      fill="#3d4852")

    def line(self, points, color=INK, width=1.6, dash=None, head=True,
             tail=False):
        """A line through points; head and tail are arrow heads."""
        extra = f' stroke-dasharray="{dash}"' if dash else ""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        self.out.append(
            f'<polyline points="{path}" fill="none" stroke="{color}" '
            f'stroke-width="{width}"{extra}/>')
        if head:
            self._tip(points[-2], points[-1], color)
        if tail:
            self._tip(points[1], points[0], color)

    def _tip(self, a, b, color):
        dx, dy = b[0] - a[0], b[1] - a[1]
        n = (dx * dx + dy * dy) ** 0.5 or 1
        dx, dy = dx / n, dy / n
        x, y = b
        p = [(x, y), (x - 10 * dx + 4.5 * dy, y - 10 * dy - 4.5 * dx),
             (x - 10 * dx - 4.5 * dy, y - 10 * dy + 4.5 * dx)]
        self.out.append('<polygon points="' + " ".join(
            f"{u:.1f},{v:.1f}" for u, v in p) + f'" fill="{color}"/>')

    def file(self, x, y, w, h, name, body="", fill="#ffffff"):
        """A sheet of paper with a folded corner: an artefact."""
        c = 16
        self.out.append(
            f'<path d="M{x},{y} h{w - c} l{c},{c} v{h - c} h{-w} z" '
            f'fill="{fill}" stroke="{INK}" stroke-width="1.6"/>'
            f'<path d="M{x + w - c},{y} v{c} h{c}" fill="none" '
            f'stroke="{INK}" stroke-width="1.6"/>')
        lines = body.count("\n") + 1 if body else 0
        top = y + (h - 14 * 1.3 - lines * 12 * 1.3) / 2 + 3
        self.text(x + w / 2, top + 14, name, 14, bold=True)
        if body:
            self.text(x + w / 2, top + 18 + 14, body, 12, fill="#3d4852")

    def dot(self, x, y, r=4, fill=INK):
        self.out.append(f'<circle cx="{x:g}" cy="{y:g}" r="{r}" fill="{fill}"/>')

    def ring(self, x, y, r, fill=PLAIN, line=None):
        self.out.append(
            f'<circle cx="{x:g}" cy="{y:g}" r="{r}" fill="{fill}" '
            f'stroke="{line or DEEP.get(fill, INK)}" stroke-width="1.4"/>')

    def wedge(self, points, fill):
        self.out.append('<polygon points="' + " ".join(
            f"{x:g},{y:g}" for x, y in points) + f'" fill="{fill}"/>')

    def save(self, path):
        w, h = self.size
        with open(path, "w", encoding="utf-8") as f:
            f.write(
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{w}" '
                f'height="{h}" viewBox="0 0 {w} {h}" '
                'font-family="DejaVu Sans, Verdana, Helvetica, sans-serif">\n'
                f"<title>{escape(self.title)}</title>\n"
                f'<rect width="{w}" height="{h}" fill="#ffffff"/>\n'
                + "\n".join(self.out) + "\n</svg>\n")
