"""Where a plan's rows hand over to each other: a message twice as large as the
one that a row goes up to is not slower by the next row than by this one, as
gtopo predict has it, but for what choosing between rows allows.  Prints what
breaks this.

    rows.py GTOPO PLAN...
"""

import fractions
import json
import subprocess
import sys

# A row stays in use while another is not quicker by 4%
# (src/search/emit/select_by_size.c).
ALLOWED = 1.042

# What is larger fits no GPU.  The last row, which the proof is about, may be one
# for such messages alone.
LARGEST_BYTES = 2**37


def time_us(gtopo, plan, row, size):
    """The predicted time of a message by one of the plan's rows."""
    alone = {key: plan[key] for key in plan if key != "proof"}
    alone["select"] = [dict(row, max_bytes=None)]
    channels = [dict(channel) for channel in plan["channels"]]
    used = [channel for channel in channels if channel["id"] in row["channels"]]
    total = sum(fractions.Fraction(channel["share"]) for channel in used)
    for channel in used:  # the last row's shares sum to 1
        channel["share"] = str(fractions.Fraction(channel["share"]) / total)
    alone["channels"] = channels
    out = subprocess.run(
        [gtopo, "predict", "--json", "-b", str(size), "-e", str(size), "-"],
        input=json.dumps(alone), check=True, stdout=subprocess.PIPE,
        text=True).stdout
    return json.loads(out)["rows"][0]["time_us"]


def main():
    gtopo = sys.argv[1]
    for name in sys.argv[2:]:
        with open(name, encoding="utf-8") as file:
            plan = json.load(file)
        rows = [row for row in plan["select"]
                if row.get("coll", plan["collective"]) == plan["collective"]]
        for row, following in zip(rows, rows[1:]):
            size = 2 * row["max_bytes"]
            if size > LARGEST_BYTES:
                continue
            before = time_us(gtopo, plan, row, size)
            behind = time_us(gtopo, plan, following, size)
            if behind > ALLOWED * before:
                print(f"{name}: {size} bytes take {behind} us by "
                      f"{following['algo']}, {before} by {row['algo']}")


if __name__ == "__main__":
    main()
