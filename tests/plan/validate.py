"""validate.py SCHEMA FILE...: is the schema one, and do the files follow it?"""
import json
import sys

import jsonschema

with open(sys.argv[1], encoding="utf-8") as file:
    schema = json.load(file)
kind = jsonschema.Draft202012Validator
kind.check_schema(schema)
wrong = 0
for name in sys.argv[2:]:
    with open(name, encoding="utf-8") as file:
        for error in kind(schema).iter_errors(json.load(file)):
            place = "".join(f"[{at!r}]" for at in error.absolute_path)
            print(f"{name}: {place}: {error.message[:200]}")
            wrong += 1
sys.exit(1 if wrong else 0)
