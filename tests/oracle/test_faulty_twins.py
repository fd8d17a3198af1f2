"""Correct programs have no findings; faults in their twins that were found once are still found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import depth
from oracle.faulty_twins import LOUD, MISSED, OBSERVED, TWINS, WRONG, faults, is_found, made, reported, runnable
from oracle.rerun import observe

FOLDERS = sorted(path for path in TWINS.iterdir() if path.is_dir())
SEEN: dict[str, dict[str, str]] = json.loads(OBSERVED.read_text("utf-8"))
RECORDED = MISSED.read_text("utf-8").splitlines()


@pytest.mark.parametrize("folder", depth.some(FOLDERS, 8), ids=lambda folder: folder.name)
def test_a_right_program_is_not_reported(folder: Path, tmp_path: Path) -> None:
    loud = [one.text for one in reported(made(folder, None, tmp_path)) if one.severity in LOUD]
    assert not loud


@pytest.mark.parametrize("folder", depth.some(FOLDERS, 5), ids=lambda folder: folder.name)
def test_missed_are_only_the_faults_recorded_as_missed(folder: Path, tmp_path: Path) -> None:
    missed = []
    for fault in faults(folder):
        findings = reported(made(folder, fault, tmp_path))
        if not is_found(fault, findings, SEEN[folder.name][fault.name] == WRONG):
            missed.append(f"{folder.name}/{fault.name}")
    assert missed == [line for line in RECORDED if line.startswith(f"{folder.name}/")]


@pytest.mark.jax
@pytest.mark.deep
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_jax_agrees_with_the_labels(folder: Path, tmp_path: Path) -> None:
    twins = [None, *faults(folder)]
    runs = observe([(runnable(made(folder, fault, tmp_path)), "agrees") for fault in twins])
    for fault, seen in zip(twins, runs, strict=True):
        said = SEEN[folder.name][fault.name] if fault is not None else ""
        if said in ("", WRONG):
            assert seen["runs"], (fault, seen["message"])
            assert seen["witness"] is (said == ""), fault
        else:
            assert not seen["runs"], fault
            assert said.partition(":")[0] in (seen["exception"], "crashes"), fault
