# share/fleet: the scripts with a gtopo that says what the test wants, and the
# files for Prometheus and Grafana against the metrics that there are.

load common

fleet=$GTOPO_SRC/share/fleet

setup() {
	program=$GTOPO
	cd "$BATS_TEST_TMPDIR"
	mkdir bin
	cat >bin/gtopo <<-'END'
	#!/bin/sh
	echo "$*" >asked
	env | grep VISIBLE_DEVICES >>seen
	printf '%s' "$SAYS"
	exit "$STATUS"
	END
	cat >bin/scontrol <<-'END'
	#!/bin/sh
	case $1 in
	show) echo "   State=${STATE:-IDLE} ThreadsPerCore=1" ;;
	*) printf '%s\n' "$@" >scontrol.said ;;
	esac
	END
	printf '#!/bin/sh\ncat >logged\n' >bin/logger
	chmod +x bin/*
	export CUDA_VISIBLE_DEVICES=3 ROCR_VISIBLE_DEVICES=3
	export HIP_VISIBLE_DEVICES=3
	export PATH=$BATS_TEST_TMPDIR/bin:$PATH SAYS= STATUS=0
	export GTOPO=$BATS_TEST_TMPDIR/bin/gtopo
	export GTOPO_EXPECT=$BATS_TEST_TMPDIR/expected.xml SLURMD_NODENAME=n1
}

@test "slurm-prolog.sh: a node that is well, not well, not seen" {
	run_split "$fleet/slurm-prolog.sh"
	want 0 ""
	[ "$(cat asked)" = "health --color never" ]
	touch expected.xml
	SAYS="n1 GPU1: warning: lanes
" STATUS=1 GTOPO_IGNORE=driver run_split "$fleet/slurm-prolog.sh"
	want 1 "n1 GPU1: warning: lanes"
	[ "$(cat asked)" = "health --color never --expect $GTOPO_EXPECT --ignore driver" ]
	[ "$(cat logged)" = "n1 GPU1: warning: lanes" ]
	SAYS="gtopo health: no memory" STATUS=3 run_split "$fleet/slurm-prolog.sh"
	want 0 "gtopo health: no memory"
	[ ! -s seen ]
}

@test "slurm-healthcheck.sh drains with the first finding" {
	run_split "$fleet/slurm-healthcheck.sh"
	want 0 ""
	[ ! -e scontrol.said ]
	SAYS=$'n1 GPU1: lanes\nn1 GPU2: lanes\n' STATUS=1 \
		run_split "$fleet/slurm-healthcheck.sh"
	want 0 ""
	[ "$(paste -sd '|' scontrol.said)" = "update|NodeName=n1|State=DRAIN|Reason=gtopo: n1 GPU1: lanes (and 1 more)" ]
	rm scontrol.said
	SAYS=no STATUS=2 run_split "$fleet/slurm-healthcheck.sh"
	want 0 ""
	[ ! -e scontrol.said ]
	[ "$(cat logged)" = "gtopo health: exit status 2" ]
	for state in IDLE+DRAIN MIXED+DRAIN DOWN 'DOWN*'; do
		SAYS=no STATUS=1 STATE=$state \
			run_split "$fleet/slurm-healthcheck.sh"
		want 0 ""
		[ ! -e scontrol.said ]
	done
	SAYS='a\tb' STATUS=1 STATE=MIXED run_split "$fleet/slurm-healthcheck.sh"
	[ "$(tail -n 1 scontrol.said)" = 'Reason=gtopo: a\tb' ]
	[ ! -s seen ]
}

@test "gtopo.nhc tells NHC" {
	die() {
		echo "die $1 $2"
	}
	log() {
		echo "log $*"
	}
	. "$fleet/gtopo.nhc"
	STATUS=0 check_gtopo --expect dgx-h100
	[ "$(cat asked)" = "health --color never --expect dgx-h100" ]
	SAYS=$'n1 GPU1: lanes\nmore' STATUS=1 run check_gtopo
	[ "$status" -eq 1 ]
	[ "$output" = "die 1 check_gtopo: n1 GPU1: lanes" ]
	SAYS=no STATUS=3 run check_gtopo
	[ "$status" -eq 0 ]
	[ "$output" = "log check_gtopo: cannot look at the node: exit status 3" ]
	[ ! -s seen ]
	[ "$CUDA_VISIBLE_DEVICES" = 3 ]
}

@test "rules and dashboard ask for metrics that gtopo-health(1) has" {
	python3 - "$fleet" "$GTOPO_SRC/man/gtopo-health.1" <<-'END'
	import json, re, sys
	folder, page = sys.argv[1:]
	known = {}
	for name, labels in re.findall(r"^\.B (gtopo_health_\w+)(?:\{(.*)\})?$",
	                               open(page).read(), re.M):
	    known[name] = set(labels.split(",")) | {"instance"}
	dashboard = json.load(open(folder + "/grafana-dashboard.json"))
	asked = [t["expr"] for p in dashboard["panels"] for t in p["targets"]]
	asked += re.findall(r"expr: (.*)", open(folder + "/prometheus-rules.yml").read())
	assert len(asked) >= 11 and len(known) == 6, (asked, known)
	used = set()
	for expr in asked:
	    for name, labels in re.findall(r"(gtopo_health_\w+)(?:\{(.*?)\})?", expr):
	        used.add(name)
	        for label in re.findall(r"(\w+)\s*!?=", labels or ""):
	            assert label in known[name], (name, label)
	assert used == set(known), used ^ set(known)
	ids = [p["id"] for p in dashboard["panels"]]
	assert len(ids) == len(set(ids))
	END
	python3 -c 'import yaml' 2>/dev/null || skip "no python3-yaml"
	python3 -c 'import sys, yaml; yaml.safe_load(open(sys.argv[1]))' \
		"$fleet/prometheus-rules.yml"
}

@test "the unit's command is one that gtopo takes" {
	read -ra command < <(sed -n '/^ExecStart=/,/[^\\]$/p' \
		"$fleet/gtopo-health.service" | tr -d '\\\n' |
		sed 's/^ExecStart=[^ ]* //; s/ -o *[^ ]*//; s/\$.*//'; echo)
	(cd "$GTOPO_SRC" && bash tests/detect/mkroot.sh \
		tests/cases/detect/cpu-only/machine.sh "$BATS_TEST_TMPDIR/root")
	run_split "$program" "${command[@]}" --root root
	[ "$status" -eq 0 ]
	[[ $out == *$'\n'"gtopo_health_healthy "* ]]
}
