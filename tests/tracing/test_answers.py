"""What a worker writes comes from a process that runs anybody's code: any bytes of it are a trace or a sentence."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depth import examples
from meshlens.devices.topology import parse_topology
from meshlens.tracing.answers import trace_from
from meshlens.tracing.machines import machine_of
from meshlens.tracing.model import Trace, to_json
from meshlens.tracing.request import TraceRequest

TRACED = {
    "lines": [["/p/a.py", 3, {"dtype": "float32", "shape": [8, 4], "varying": [], "sharding": None}]],
    "collectives": [
        {"place": ["/p/a.py", 3], "kind": "all-reduce", "axes": ["x"], "group_size": 8, "bytes": 128, "times": 2}
    ],
    "rows": [["/p/a.py", 3]],
    "equations": [2, 2],
    "flops": 100.0,
    "unknown_loops": [["/p/a.py", 4]],
    "meshes": [{"axes": {"x": 8}, "ids": []}],
    "jax": "0.10.2",
    "files": [{"path": "/p/a.py", "sha256": "00"}],
    "notes": [],
}
MODULE = """\
HloModule jit_f

FileNames
1 "/p/a.py"

FileLocations
1 {file_name_id=1 function_name_id=1 line=3 end_line=3 column=4 end_column=9}

StackFrames
1 {file_location_id=1 parent_frame_id=1}

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %c = f32[] add(%a, %b)
}

%body (p: (s32[], f32[4])) -> (s32[], f32[4]) {
  %p = (s32[], f32[4]) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %one = s32[] constant(1)
  %next = s32[] add(%i, %one)
  %x = f32[4]{0} get-tuple-element(%p), index=1
  %r = f32[4]{0} all-reduce(%x), replica_groups=[1,8]<=[8], to_apply=%add, metadata={op_name="f" stack_frame_id=1}
  ROOT %t = (s32[], f32[4]) tuple(%next, %r)
}

%condition (p.1: (s32[], f32[4])) -> pred[] {
  %p.1 = (s32[], f32[4]) parameter(0)
  %i.1 = s32[] get-tuple-element(%p.1), index=0
  %end = s32[] constant(5)
  ROOT %less = pred[] compare(%i.1, %end), direction=LT
}

ENTRY %main (y: f32[4]) -> f32[4] {
  %y = f32[4]{0} parameter(0), sharding={devices=[8]<=[8]}
  %zero = s32[] constant(0)
  %start = (s32[], f32[4]) tuple(%zero, %y)
  %loop = (s32[], f32[4]) while(%start), condition=%condition, body=%body
  ROOT %out = f32[4]{0} get-tuple-element(%loop), index=1
}
"""
NAMES = {
    "traced.json": json.dumps(TRACED),
    "lowered.json": json.dumps({"module": "jit_f", "dumps": []}),
    "dumps/module_0.jit_f.1.after_shardy.before_spmd-partitioning.txt": MODULE,
    "dumps/module_0.jit_f.2.after_spmd-partitioning.txt": MODULE,
    "output": "Involuntary full rematerialization. from sharding {replicated} to {maximal} efficiently metadata={}",
}
TARGET = parse_topology("8xH100")
REQUEST = TraceRequest("/usr/bin/python", Path("/p"), Path("/p/a.py"), "entry", TARGET, machine=machine_of(TARGET))
BLANK = Trace("a.py::entry", "8xH100", 8)


@pytest.fixture
def room(tmp_path):
    """A room as a worker leaves it."""
    (tmp_path / "dumps").mkdir()
    for name, text in NAMES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_loop_in_a_module(room):
    found = trace_from(room, REQUEST, BLANK)
    (one,) = found.collectives
    assert (one.kind, one.axes, one.group_size, one.count, one.bytes) == ("all-reduce", ("x",), 8, 5, 80)
    assert (one.place.filename, one.place.row) == ("/p/a.py", 3)
    assert found.level == "partitioned"


@settings(max_examples=examples(300))
@given(st.sampled_from(sorted(NAMES)), st.data())
def test_any_bytes_are_a_trace(tmp_path_factory, name, data):
    room = tmp_path_factory.mktemp("room")
    (room / "dumps").mkdir()
    for other, text in NAMES.items():
        (room / other).write_text(text)
    raw = NAMES[name].encode()
    start = data.draw(st.integers(0, len(raw)))
    end = data.draw(st.integers(start, min(len(raw), start + 40)))
    (room / name).write_bytes(raw[:start] + data.draw(st.binary(max_size=40)) + raw[end:])
    json.dumps(to_json(trace_from(room, REQUEST, BLANK)))


@pytest.mark.parametrize(
    "changes",
    [
        {"lines": 3},
        {"lines": [["/p/a.py", "x", {}]]},
        {"collectives": [{}]},
        {"meshes": [{"axes": {"x": "many"}}]},
        {"files": [{"path": ["/p"], "sha256": 3}]},
        {"equations": []},
        {"rows": [[1, 2]], "flops": "much"},
    ],
    ids=str,
)
def test_any_json_is_a_trace(room, changes):
    (room / "traced.json").write_text(json.dumps({**TRACED, **changes}))
    json.dumps(to_json(trace_from(room, REQUEST, BLANK)))
