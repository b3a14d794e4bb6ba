#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks GitHub workflows, files or the yaml blocks of pages, as far as that goes without GitHub.

  tests/workflows.py FILE...

Each must be YAML without a key twice, with events and jobs; each job a machine and steps; each step one of `uses` and
`run`, whose shell code parses, and only keys that steps have. Scripts of this tree that a step starts must exist.
"""
import os
import re
import subprocess
import sys

STEP = {"name", "id", "if", "uses", "run", "with", "env", "shell", "working-directory", "continue-on-error",
        "timeout-minutes"}
JOB = {"name", "runs-on", "steps", "container", "timeout-minutes", "strategy", "needs", "if", "env", "permissions",
       "defaults", "services", "concurrency", "outputs"}
TOP = {"name", True, "on", "jobs", "permissions", "env", "defaults", "concurrency", "run-name"}


def check_step(step, say):
    if not isinstance(step, dict) or ("uses" in step) == ("run" in step):
        say(f"a step needs one of uses and run: {step}")
        return
    for key in set(step) - STEP:
        say(f"steps have no {key}")
    if "uses" in step and not re.fullmatch(r"[\w.-]+/[\w./-]+@[\w.-]+", step["uses"]):
        say(f"no action at a version: {step['uses']}")
    if "run" in step:
        parsed = subprocess.run(["bash", "-n"], input=step["run"], text=True, capture_output=True)
        if parsed.returncode:
            say(f"does not parse: {step['run']}: {parsed.stderr}")
        first = step["run"].split()[0]
        if first.startswith(".") and not os.access(first, os.X_OK):
            say(f"no script {first}")


def check(text, say):
    import yaml

    class Loader(yaml.SafeLoader):
        """Refuses a key that is there twice, which YAML's last one would win."""

        def construct_mapping(self, node, deep=False):
            keys = [self.construct_object(key) for key, _ in node.value]
            for key in {key for key in keys if keys.count(key) > 1}:
                say(f"{key} is there twice")
            return super().construct_mapping(node, deep)

    try:
        workflow = yaml.load(text, Loader)
    except yaml.YAMLError as error:
        say(f"no YAML: {error}")
        return
    if not isinstance(workflow, dict) or not workflow.get("jobs") or True not in workflow:  # YAML 1.1: `on` is true
        say("needs `on` and `jobs`")
        return
    for key in set(workflow) - TOP:
        say(f"workflows have no {key}")
    for name, job in workflow["jobs"].items():
        for key in set(job) - JOB:
            say(f"{name}: jobs have no {key}")
        if "runs-on" not in job or not job.get("steps"):
            say(f"{name}: needs runs-on and steps")
        for step in job.get("steps") or []:
            check_step(step, lambda text, name=name: say(f"{name}: {text}"))


def main():
    if any(option in sys.argv[1:] for option in ("-h", "--help", "--version")):
        print("XMalloc" if "--version" in sys.argv else __doc__)
        return 0
    count = 0
    mistakes = []
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        workflows = [text] if not path.endswith(".md") else [
            block for block in re.findall(r"^```yaml\n(.*?)^```", text, re.M | re.S) if re.search("^jobs:", block, re.M)]
        for workflow in workflows:
            count += 1
            check(workflow, lambda mistake, path=path: mistakes.append(f"{path}: {mistake}"))
    print("\n".join(mistakes + [f"{count} workflows, {len(mistakes)} mistakes"]))
    return 1 if mistakes or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
