"""Where a plan's rows hand over to each other: a message twice as large as the
one that a row goes up to is not slower by the next row than by this one, as
gtopo predict has it, but for what choosing between rows allows.  Prints what
breaks this.

    rows.py GTOPO PLAN...
"""

import json
import subprocess
import sys

# A row stays in use while another is quicker by less than 3%.  On one machine
# the last row is the proven one, and copy engines reach 1.057 of the rate that
# NCCL counts on where a ring's kernels reach 0.99 (src/plan/cost/params.h).
ALLOWED = 1.07


def time_us(gtopo, plan, row, size):
    """The predicted time of a message by one of the plan's rows."""
    alone = {key: plan[key] for key in plan if key != "proof"}
    alone["select"] = [dict(row, max_bytes=None)]
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
            before = time_us(gtopo, plan, row, size)
            behind = time_us(gtopo, plan, following, size)
            if behind > ALLOWED * before:
                print(f"{name}: {size} bytes take {behind} us by "
                      f"{following['algo']}, {before} by {row['algo']}")


if __name__ == "__main__":
    main()
