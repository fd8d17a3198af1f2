"""A worker's answer comes from a process that runs untrusted code: whatever its bytes, it is a trace or a sentence."""

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
from meshlens.tracing.specs import spec_of

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
    """Returns a folder as a worker leaves it."""
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


def test_elements_of_tuples_as_newer_releases_name_them(room):
    text = "".join(line for line in MODULE.splitlines(keepends=True) if "get-tuple-element" not in line)
    for old, new in (("(%i, ", "(%p#0, "), ("(%x)", "(%p#1)"), ("(%i.1, ", "(%p.1#0, ")):
        assert old in text
        text = text.replace(old, new)
    (room / "dumps" / "module_0.jit_f.2.after_spmd-partitioning.txt").write_text(text)
    (one,) = trace_from(room, REQUEST, BLANK).collectives
    assert (one.count, one.bytes) == (5, 80)


def test_what_gathers_an_argument_stands_at_the_line_that_uses_it(room):
    gathered = "  %g = f32[32]{0} all-gather(%y), replica_groups=[1,8]<=[8], dimensions={0}\n"
    used = '  %n = f32[32]{0} negate(%g), metadata={op_name="f" stack_frame_id=1}\n'
    text = MODULE.replace("  %zero = ", gathered + used + "  %zero = ")
    (room / "dumps" / "module_0.jit_f.2.after_spmd-partitioning.txt").write_text(text)
    found = trace_from(room, REQUEST, BLANK)
    assert {one.kind: one.place.row for one in found.collectives} == {"all-gather": 3, "all-reduce": 3}


@pytest.mark.parametrize(
    ("sharding", "spec"),
    [
        ("{devices=[2,1,4]<=[8] last_tile_dim_replicate}", "P('data')"),
        ("{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}", "P(None, 'model')"),
        ("{replicated}", "P()"),
        ("{mesh['data'=2,'model'=4], [{'data'}, {}]}", "P('data')"),
        ("{mesh['data'=2,'model'=4], [{}, {'model'}]}", "P(None, 'model')"),
        ("{mesh['axis_0'=2,'axis_1'=4], [{'axis_0', 'axis_1'}, {}]}", "P(('data', 'model'))"),
        ("{mesh['data'=2,'model'=4], [{'model', 'data'}, {?}], replicated={}}", "P(('model', 'data'))"),
        ("{mesh['data'=2,'model'=4], [{}, {}]}", "P()"),
        ("{mesh[], replicated}", "P()"),
        ("{mesh['data'=2,'model'=4], [{'model':(1)2}, {}]}", None),
        ("{mesh['data'=8], device_ids=([7,6,5,4,3,2,1,0]), [{'data'}, {}]}", None),
        ("{maximal device=0}", None),
    ],
)
def test_shardings_in_the_forms_of_all_releases(sharding, spec):
    assert spec_of(sharding, 2, (("data", 2), ("model", 4))) == spec


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
