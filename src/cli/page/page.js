"use strict";
/* What a device is, which links a channel takes, and keys.  Without this the
 * page has the same facts in its tables. */
(function () {
	const views = JSON.parse(document.getElementById("data").textContent);
	const card = document.getElementById("card");
	const all = (root, what) => Array.from(root.querySelectorAll(what));

	document.documentElement.classList.add("scripted");

	/* One picture: its elements by the names that Graphviz was given, "n3"
	 * for a node of the graph, "n3->n5" for a link. */
	function picture(figure) {
		const view = views[figure.dataset.view] || {};
		const machine = view.machine || {nodes: [], links: []};
		const number = new Map(machine.nodes.map((n, i) => [n.id, i]));
		const shown = new Map();

		all(figure, "g.node, g.edge, g.cluster").forEach(g => {
			const title = g.querySelector("title");
			const a = g.querySelector("a");
			const tip = a ? a.getAttribute("xlink:title") : "";

			if (a)
				a.removeAttribute("xlink:title");
			g.dataset.name = title ? title.textContent : "";
			g.dataset.tip = tip ? tip.trim() : "";
			if (title)
				title.remove();
			shown.set(g.dataset.name, g);
		});
		return {figure, view, machine, number, shown};
	}

	const byBus = (p, bus) => p.machine.nodes.findIndex(
		n => n.bus_id === bus.toLowerCase() && n.kind !== "NET");

	/* The line that a link is drawn as, in either direction. */
	function lineOf(p, id) {
		const ends = id.split(">").map(end => p.number.get(end));
		const names = ends.map(i => "n" + i);

		return p.shown.get(names[0] + "->" + names[1]) ||
			p.shown.get(names[1] + "->" + names[0]) ||
			(id.startsWith("CPU/") ?
				p.shown.get(names[0] + "->sys") : undefined);
	}

	const round = x => String(Number(x.toPrecision(4)));
	const short = id => id.replace(/^PCI\//, "switch ").replace("/", " ");

	function linksOf(p, i) {
		const id = p.machine.nodes[i].id;

		return p.machine.links.filter(link => link.from === id);
	}

	/* Rows of the card: what is known of a node, then its links. */
	function factsOf(p, i) {
		const n = p.machine.nodes[i];
		const rows = [["bus id", n.bus_id], ["model", n.model],
			["name", n.name], ["link", n.pcie], ["slot", n.slot], ["facts", n.facts], ["guid", n.guid],
			["rank", n.rank], ["rail", n.rail],
			["problem", n.problem]];

		linksOf(p, i).slice(0, 12).forEach(link => rows.push([
			(link.count > 1 ? link.count + " x " : "") + link.kind,
			round(link.bw_gbs) + " GB/s to " + short(link.to)]));
		all(p.figure.closest("section"), "tr[data-severity]").forEach(row => {
			const heads = Array.from(row.closest("table").tHead
				.rows[0].cells, cell => cell.textContent);
			const text = row.cells[heads.indexOf("finding")];

			if (n.bus_id && row.dataset.bus === n.bus_id && text)
				rows.push([row.dataset.severity,
					text.textContent]);
		});
		return rows.filter(row => row[1] !== undefined && row[1] !== "");
	}

	function show(title, rows, at) {
		const list = document.createElement("dl");
		const head = document.createElement("b");

		head.textContent = title;
		rows.forEach(row => row.forEach((text, i) => {
			const cell = document.createElement(i ? "dd" : "dt");

			cell.textContent = text;
			list.append(cell);
		}));
		card.replaceChildren(head, list);
		card.hidden = false;
		const w = card.offsetWidth, h = card.offsetHeight;
		card.style.left = Math.max(8, Math.min(at.x + 16,
			innerWidth - w - 8)) + "px";
		card.style.top = Math.max(8, at.y + 16 + h > innerHeight ?
			at.y - h - 12 : at.y + 16) + "px";
	}

	function clear(p) {
		card.hidden = true;
		all(p.figure, ".hot, .dim").forEach(
			g => g.classList.remove("hot", "dim"));
	}

	/* Makes lines stand out, and the rest of the machine's step back. */
	function highlight(p, lines) {
		const hot = new Set(lines.filter(Boolean));

		p.shown.forEach((g, name) => {
			if (!/^n\d+->/.test(name))
				return;
			g.classList.toggle("hot", hot.has(g));
			g.classList.toggle("dim", !hot.has(g));
		});
	}

	function enter(p, g, at) {
		const node = /^n(\d+)$/.exec(g.dataset.name);

		clear(p);
		if (node) {
			const i = Number(node[1]);

			if (!p.machine.nodes[i])
				return;
			show(g.dataset.tip.split(": ")[0], factsOf(p, i), at);
			highlight(p, linksOf(p, i).map(l => lineOf(p, l.id)));
			g.classList.add("hot");
		} else if (g.dataset.tip) {
			show(g.dataset.tip, [], at);
			g.classList.add("hot");
		}
	}

	/* Devices take the focus, so that keys reach what the mouse does. */
	function listen(p) {
		const nodes = all(p.figure, "g.node").filter(
			g => /^n\d+$/.test(g.dataset.name));

		p.shown.forEach(g => {
			if (g.classList.contains("cluster"))
				return;
			g.addEventListener("mousemove", e => enter(p, g,
				{x: e.clientX, y: e.clientY}));
			g.addEventListener("mouseleave", () => clear(p));
		});
		nodes.forEach((g, k) => {
			g.setAttribute("tabindex", k ? "-1" : "0");
			g.setAttribute("aria-label", g.dataset.tip);
			g.addEventListener("focus", () => {
				const box = g.getBoundingClientRect();

				enter(p, g, {x: box.right, y: box.top});
			});
			g.addEventListener("blur", () => clear(p));
			g.addEventListener("keydown", e => {
				const step = {ArrowDown: 1, ArrowRight: 1,
					ArrowUp: -1, ArrowLeft: -1}[e.key];

				if (step === undefined)
					return;
				e.preventDefault();
				nodes[(k + step + nodes.length) %
					nodes.length].focus();
			});
		});
	}

	/* A lane is "c3_7", "c3_7->c3_8", "g3" and "w3": circles, arrows, name
	 * and network. */
	function lanes(p, box) {
		const parts = lane => Array.from(p.shown.values()).filter(g =>
			new RegExp("^(c" + lane + "_|[gw]" + lane + "$|c" +
				lane + "->)").test(g.dataset.name));

		all(box, "label").forEach(label => {
			const input = label.querySelector("input");
			const lane = input.value;

			input.addEventListener("change", () => parts(lane)
				.forEach(g => g.classList.toggle("off",
					!input.checked)));
			const on = () => highlight(p, (p.view.lanes ?
				p.view.lanes[lane] || [] : []).map(
					id => lineOf(p, id)));
			label.addEventListener("mouseenter", on);
			label.addEventListener("mouseleave", () => clear(p));
			input.addEventListener("focus", on);
			input.addEventListener("blur", () => clear(p));
		});
	}

	/* Rows of tables point at what they are about, in the same section. */
	function rows(p) {
		all(p.figure.closest("section"), "tr[data-bus], tr[data-link]")
			.forEach(row => {
			row.addEventListener("mouseenter", () => {
				const i = row.dataset.bus ?
					byBus(p, row.dataset.bus) : -1;

				clear(p);
				if (row.dataset.link)
					highlight(p, [lineOf(p,
						row.dataset.link)]);
				else if (p.shown.get("n" + i))
					p.shown.get("n" + i).classList.add(
						"hot");
			});
			row.addEventListener("mouseleave", () => clear(p));
		});
		(p.view.marks || []).forEach(bus => {
			const g = p.shown.get("n" + byBus(p, bus));

			if (g)
				g.classList.add("marked");
		});
	}

	all(document, "figure[data-view]").forEach(figure => {
		const p = picture(figure);

		listen(p);
		rows(p);
		all(figure.closest("section"), ".lanes").forEach(
			box => lanes(p, box));
	});

	document.addEventListener("keydown", e => {
		const links = all(document, "nav a");

		if (e.ctrlKey || e.altKey || e.metaKey ||
		    e.target.matches("input"))
			return;
		if (e.key === "Escape")
			document.activeElement.blur();
		else if (links[Number(e.key) - 1])
			links[Number(e.key) - 1].click();
	});

	/* Paper cannot be unfolded. */
	window.addEventListener("beforeprint", () => all(document, "details")
		.forEach(d => { d.open = true; }));
})();
