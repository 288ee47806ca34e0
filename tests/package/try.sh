# In a clean root that the packages were copied into: installs them as a user
# would, then goes from detect to run.
set -e
cd /root
export DEBIAN_FRONTEND=noninteractive
apt-get install -y -qq --no-install-recommends ./debs/*.deb >log 2>&1 || {
	cat log
	exit 1
}
gtopo version
gtopo detect -o here.xml
gtopo search -o plan.json dgx-h100
gtopo verify plan.json
gtopo run --plan plan.json --device host --coll allreduce -b 64K -e 64K
# What the pages that came along show, as somebody who has nothing else.
cp /usr/share/gtopo/xml/*.xml .
for command in detect search run; do
	zcat "/usr/share/man/man1/gtopo-$command.1.gz" |
		sed -n 's/\\-/-/g; s/\\e/\\/g; s/^\$ //p' >"$command.sh"
	[ -s "$command.sh" ]
	sh -ex "$command.sh" >log 2>&1 || {
		cat log
		exit 1
	}
done
python3 - <<-E
	import array, gtopo
	plan = gtopo.search(open("dgx-1v.xml").read(), algo="ring")
	print(gtopo.verify(plan))
	data = [array.array("i", [r]) for r in range(8)]
	with gtopo.Comm(plan) as comm:
	    comm.allreduce(data)
	assert all(mine[0] == 28 for mine in data)
E
echo "all of it ran"
