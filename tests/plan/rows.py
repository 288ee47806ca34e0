"""Where a plan's rows hand over to each other: the bandwidth that is predicted
for twice a row's largest message is not below that for the message itself by
more than what choosing between rows allows.  Prints what breaks this.

    rows.py GTOPO PLAN...
"""

import json
import subprocess
import sys

# A row stays in use while another is quicker by less than 3%, and a message
# that is cut into a few loops may lose as much to the last of them.
ALLOWED = 0.94


def busbw(gtopo, plan, size):
    """The predicted bandwidth of this message and of one twice as large."""
    out = subprocess.run(
        [gtopo, "predict", "--json", "-b", str(size), "-e", str(2 * size),
         "-f", "2", plan],
        check=True, capture_output=True, text=True).stdout
    return [row["busbw_gbs"] for row in json.loads(out)["rows"]]


def main():
    gtopo = sys.argv[1]
    for name in sys.argv[2:]:
        with open(name, encoding="utf-8") as file:
            plan = json.load(file)
        for row in plan["select"]:
            size = row["max_bytes"]
            if row.get("coll", plan["collective"]) != plan["collective"]:
                continue
            if size is None:
                continue
            before, behind = busbw(gtopo, name, size)
            if behind < ALLOWED * before:
                print(f"{name}: {row['algo']} up to {size} bytes reaches "
                      f"{before} GB/s, what follows {behind}")


if __name__ == "__main__":
    main()
