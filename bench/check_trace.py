# SPDX-License-Identifier: MIT
"""Is a file strict JSON and a trace in the Trace Event Format, as its viewers read it?

    python3 check_trace.py FILE

Checks the fields that the format asks of each kind of event, and that the counters at the end are the totals' live bytes."""

import json
import numbers
import sys

if "-h" in sys.argv or "--help" in sys.argv:
    print(__doc__)
    sys.exit()


def fail(constant):
    raise ValueError(f"{constant} is no JSON")


def no_doubles(pairs):
    names = [name for name, _ in pairs]
    assert len(names) == len(set(names)), f"a name stands twice: {names}"
    return dict(pairs)


with open(sys.argv[1], encoding="utf-8") as file:
    trace = json.load(file, parse_constant=fail, object_pairs_hook=no_doubles)
assert trace["displayTimeUnit"] in ("ms", "ns")
events = trace["traceEvents"]
times = {}
named = set()
for event in events:
    assert isinstance(event["name"], str) and isinstance(event["pid"], int), event
    kind = event["ph"]
    if kind == "M":
        assert event["name"] in ("process_name", "thread_name") and isinstance(event["args"]["name"], str), event
        named.add(event["tid"])
        continue
    time = event["ts"]
    assert isinstance(time, numbers.Real) and time >= times.get(event["pid"], 0), event
    times[event["pid"]] = time
    if kind == "i":
        assert event["s"] in ("g", "p", "t") and event["tid"] in named and isinstance(event["args"], dict), event
    elif kind == "C":
        assert event["args"] and all(isinstance(v, int) and v >= 0 for v in event["args"].values()), event
    else:
        raise AssertionError(event)
counters = [event for event in events if event["ph"] == "C"]
if counters and trace["otherData"]["every"] == 1 and trace["otherData"]["lost"] == 0:
    live = sum(bytes for name, bytes in counters[-1]["args"].items() if name != "regions")
    assert live == trace["otherData"]["live_bytes"], (live, trace["otherData"])
print(f"{len(events)} trace events, {len(counters)} of them counters")
