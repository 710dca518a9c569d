"""The Helm chart: rendered by Helm, decoded by Kubernetes' own types, and compared with the processes."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
import yaml

from graphtide.infra.renamed_settings import RENAMED
from graphtide.infra.settings import Settings
from tests.support import go_tools

CHART = Path(__file__).parents[2] / "helm"
VALUES = sorted(file.stem.removesuffix("-values") for file in (CHART / "ci").glob("*-values.yaml"))
KUBERNETES = "1.34.0"
RELEASES = ("graphtide", "a-release-whose-name-is-as-long-as-helm-allows-it-abc")
WORKERS = ("gateway", "query", "extract", "summarize", "consolidate")

Manifest = dict[str, Any]

# The first build of the tools takes minutes.
pytestmark = [pytest.mark.thorough, pytest.mark.timeout(900)]


@cache
def render(values: str, release: str = "graphtide") -> str:
    """Render the chart with one of its values files."""
    command = [str(go_tools.helm()), "template", release, str(CHART), "--kube-version", KUBERNETES]
    done = subprocess.run(
        [*command, "-f", str(CHART / "ci" / f"{values}-values.yaml")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def manifests(values: str, release: str = "graphtide") -> list[Manifest]:
    return [one for one in yaml.safe_load_all(render(values, release)) if one]


def refused(*arguments: str) -> str:
    """Return Helm's error message when it refuses to render."""
    command = [str(go_tools.helm()), "template", "graphtide", str(CHART), "--kube-version", KUBERNETES, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    return done.stderr


def pods(values: str, release: str = "graphtide") -> Iterator[tuple[str, Manifest]]:
    """Return (name, pod template) of every workload."""
    for one in manifests(values, release):
        if one["kind"] in ("Deployment", "StatefulSet", "Job"):
            yield one["metadata"]["name"], one["spec"]["template"]


def containers(values: str) -> Iterator[tuple[str, Manifest]]:
    """Return (component, container) of Graphtide's own, without the servers that the chart can include."""
    for _, template in pods(values):
        component = template["metadata"]["labels"]["app.kubernetes.io/component"]
        if component not in ("kafka", "memgraph"):
            for container in template["spec"]["containers"]:
                yield component, container


def test_chart_is_linted_without_a_complaint() -> None:
    """`helm lint --strict` accepts every values file."""
    for values in VALUES:
        file = CHART / "ci" / f"{values}-values.yaml"
        command = [str(go_tools.helm()), "lint", "--strict", "--kube-version", KUBERNETES, str(CHART), "-f", str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("values", VALUES)
def test_chart_renders_what_kubernetes_types_hold(values: str) -> None:
    """Each manifest decodes strictly into the type of its kind: no unknown field, no wrong type."""
    done = subprocess.run([go_tools.kubecheck()], input=render(values), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_kubecheck_refuses_a_misspelt_field() -> None:
    """The check can fail: a field that no type has is named."""
    wrong = render("tryout").replace("terminationGracePeriodSeconds", "terminationGraceSeconds", 1)
    done = subprocess.run([go_tools.kubecheck()], input=wrong, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "terminationGraceSeconds" in done.stdout


@pytest.mark.parametrize("values", VALUES)
def test_environment_of_each_container_is_made_of_settings(values: str) -> None:
    """Every GRAPHTIDE_ name that the chart sets is a setting of the process."""
    for _, container in containers(values):
        names = [entry["name"] for entry in container["env"]]
        assert len(names) == len(set(names))
        for name in names:
            assert name.startswith("GRAPHTIDE_")
            assert name.removeprefix("GRAPHTIDE_").lower() in Settings.model_fields, name


@pytest.mark.parametrize("values", VALUES)
def test_environment_of_each_container_is_accepted_by_the_settings(
    values: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The values have the types of the settings, numbers included."""
    for _, container in containers(values):
        with monkeypatch.context() as patched:
            for entry in container["env"]:
                patched.setenv(entry["name"], entry["value"])
            assert not ip_address(Settings().host).is_loopback


@pytest.mark.parametrize("values", VALUES)
def test_secrets_never_stand_in_an_environment(values: str) -> None:
    """Secret values are references to a Secret, and no pod contains them."""
    rendered = [one for one in manifests(values) if one["kind"] != "Secret"]
    assert "not-a-real-key" not in yaml.safe_dump(rendered)


@pytest.mark.parametrize("values", VALUES)
def test_pods_are_confined(values: str) -> None:
    """No pod of ours may write to its image, become root, keep a capability or hold a token of the API server."""
    for name, template in pods(values):
        spec = template["spec"]
        assert spec["automountServiceAccountToken"] is False, name
        assert spec["securityContext"]["runAsNonRoot"] is True, name
        for container in spec["containers"]:
            context = container["securityContext"]
            assert context["allowPrivilegeEscalation"] is False
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert container["resources"]["limits"]["memory"]
    for _, container in containers(values):
        assert container["securityContext"]["readOnlyRootFilesystem"] is True


@pytest.mark.parametrize("values", VALUES)
def test_pods_mount_what_they_declare_and_nothing_else(values: str) -> None:
    """Each mount has its volume, and each volume is mounted."""
    for name, template in pods(values):
        volumes = {volume["name"] for volume in template["spec"].get("volumes", [])}
        volumes |= {"data"} if name.endswith(("-kafka", "-memgraph")) else set()
        mounts = {mount["name"] for one in template["spec"]["containers"] for mount in one["volumeMounts"]}
        assert mounts == volumes, name


@pytest.mark.parametrize("values", VALUES)
def test_workers_are_probed_and_given_time_to_end(values: str) -> None:
    """Each process has all three probes on a port it declares, and more time to end than it needs."""
    for name, template in pods(values):
        component = template["metadata"]["labels"]["app.kubernetes.io/component"]
        if component not in WORKERS:
            continue
        (container,) = template["spec"]["containers"]
        ports = {port["name"] for port in container["ports"]}
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            assert container[probe]["httpGet"]["port"] in ports, name
        assert template["spec"]["terminationGracePeriodSeconds"] > Settings().shutdown_timeout_s
        assert container["args"] == ["worker", component]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("values", VALUES)
def test_names_are_short_enough_and_of_one_thing_each(values: str, release: str) -> None:
    """The names, for any release name, are within DNS's limit and distinct."""
    named = [(one["kind"], one["metadata"]["name"]) for one in manifests(values, release)]
    assert len(named) == len(set(named))
    assert all(len(name) <= 63 for _, name in named)
    for one in manifests(values, release):
        assert all(len(value) <= 63 for value in one["metadata"]["labels"].values())


@pytest.mark.parametrize("values", VALUES)
def test_selectors_find_exactly_their_pods(values: str) -> None:
    """Services, workloads, budgets and policies select existing pods, and workloads their own alone."""
    labels = {name: template["metadata"]["labels"] for name, template in pods(values)}
    for one in manifests(values):
        spec = one.get("spec", {})
        chosen = {
            "Service": lambda s: s["selector"],
            "Deployment": lambda s: s["selector"]["matchLabels"],
            "StatefulSet": lambda s: s["selector"]["matchLabels"],
            "PodDisruptionBudget": lambda s: s["selector"]["matchLabels"],
            "NetworkPolicy": lambda s: s["podSelector"]["matchLabels"],
        }.get(one["kind"])
        if chosen is None:
            continue
        wanted = chosen(spec).items()
        found = [name for name, own in labels.items() if wanted <= own.items()]
        assert found, one["metadata"]["name"]
        if one["kind"] in ("Deployment", "StatefulSet"):
            assert found == [one["metadata"]["name"]]


def test_network_policies_let_the_gateway_reach_query_alone() -> None:
    """The gateway, which is public, connects to the query replicas and to DNS and nothing else."""
    policy = next(
        one
        for one in manifests("external")
        if one["kind"] == "NetworkPolicy" and one["metadata"]["name"] == "graphtide-gateway"
    )
    reached = [
        peer["podSelector"]["matchLabels"]["app.kubernetes.io/component"]
        for rule in policy["spec"]["egress"]
        for peer in rule.get("to", [])
    ]
    assert reached == ["query"]
    assert all("ports" in rule for rule in policy["spec"]["egress"])


REACHED = {
    "gateway": {"traces"},
    "topics": {"kafka"},
    **{key: {"kafka", "bolt", "models", "traces"} for key in ("extract", "summarize")},
    **{key: {"kafka", "bolt", "models", "traces", "checkpoints"} for key in ("query", "consolidate")},
}
"""The destinations of each process, besides query replicas and DNS."""
ENDPOINTS = {
    "models": ("--set", "settings.llm_base_url=https://llm.example/v1,settings.llm_model=m"),
    "traces": ("--set", "settings.otlp_endpoint=http://collector:4318"),
    "checkpoints": ("--set", "settings.checkpoints_url=s3://bucket/checkpoints"),
}
ELSEWHERE = ("--set", "credentials.allowUnauthenticated=true,settings.kafka=k:9092,settings.bolt=bolt://b:7687")
PEERS = {
    name: f"10.0.0.{number}/32" for number, name in enumerate(("kafka", "bolt", "models", "traces", "checkpoints"), 1)
}


def egress(*arguments: str) -> dict[str, list[Manifest]]:
    """Return the rules by which each process reaches more than the query replicas and DNS."""
    found = {}
    for one in yaml.safe_load_all(rendered(*arguments)):
        if one and one["kind"] == "NetworkPolicy":
            component = one["spec"]["podSelector"]["matchLabels"]["app.kubernetes.io/component"]
            found[component] = [rule for rule in one["spec"]["egress"] if "ports" not in rule]
            assert {"port": 53, "protocol": "UDP"} in one["spec"]["egress"][0]["ports"]
    return found


def rendered(*arguments: str) -> str:
    """Render the chart with these arguments."""
    command = [str(go_tools.helm()), "template", "graphtide", str(CHART), "--kube-version", KUBERNETES, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    subprocess.run([go_tools.kubecheck()], input=done.stdout, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize("named", [(), ("models",), ("traces",), ("models", "traces", "checkpoints")])
def test_network_policies_allow_what_the_settings_of_a_process_name_and_no_more(named: tuple[str, ...]) -> None:
    """With a peer for each: the servers always, endpoints and collector where they are configured."""
    parts = [part for name in named for part in ENDPOINTS[name]]
    peers = [f'networkPolicy.egress.{name}=[{{"ipBlock":{{"cidr":"{cidr}"}}}}]' for name, cidr in PEERS.items()]
    rules = egress(*ELSEWHERE, *parts, *(part for one in peers for part in ("--set-json", one)))
    assert set(rules) == set(REACHED)
    for component, uses in REACHED.items():
        allowed = {peer["ipBlock"]["cidr"] for rule in rules[component] for peer in rule["to"]}
        assert allowed == {PEERS[name] for name in uses & {"kafka", "bolt", *named}}, component


def test_network_policies_allow_every_destination_where_none_is_named() -> None:
    """Only a process with a destination gets the rule (a gateway needs a collector); egressTo applies to all."""
    everywhere = egress(*ELSEWHERE)
    assert everywhere.pop("gateway") == []
    assert all(rules == [{}] for rules in everywhere.values())
    assert all(rules == [{}] for rules in egress(*ELSEWHERE, *ENDPOINTS["traces"]).values())
    narrowed = egress(
        *ELSEWHERE, *ENDPOINTS["traces"], "--set-json", 'networkPolicy.egressTo=[{"ipBlock":{"cidr":"10.0.0.0/8"}}]'
    )
    for component, rules in narrowed.items():
        assert rules and all(rule == {"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]} for rule in rules), component


def test_network_policies_reach_servers_of_the_release_by_their_label() -> None:
    """Broker and database are inside the release, and no other destination is named: no rule allows more."""
    rules = egress("--set", "credentials.allowUnauthenticated=true,kafka.deploy=true,memgraph.deploy=true")
    for component in ("query", "extract", "summarize", "consolidate", "topics"):
        labels = [peer["podSelector"]["matchLabels"] for rule in rules[component] for peer in rule["to"]]
        servers = {each["app.kubernetes.io/component"] for each in labels}
        assert servers == ({"kafka"} if component == "topics" else {"kafka", "memgraph"}), component
    assert rules["gateway"] == []


def test_query_replicas_and_consolidators_have_checkpoints_in_their_claims_alone() -> None:
    """The setting names the folder where the claim is mounted; no other process has it, and two places are refused."""
    for name, pod in pods("everything"):
        container = pod["spec"]["containers"][0]
        mounts = {one["mountPath"] for one in container.get("volumeMounts", ()) if one["name"] == "checkpoints"}
        claims = {
            one["persistentVolumeClaim"]["claimName"]
            for one in pod["spec"].get("volumes", ())
            if one["name"] == "checkpoints"
        }
        named = {one["value"] for one in container.get("env", ()) if one["name"] == "GRAPHTIDE_CHECKPOINTS_URL"}
        has_some = name.startswith(("graphtide-query", "graphtide-consolidate"))
        assert (mounts, claims) == ((named, {"checkpoints"}) if has_some else (set(), set())), name
        assert len(named) == has_some
    for process in ("query", "consolidate"):
        both = f"processes.{process}.checkpointsClaim=c,settings.checkpoints_url=s3://b/c"
        assert f"processes.{process}.checkpointsClaim and" in refused(*ELSEWHERE, "--set", both)


def test_broker_keeps_its_log_in_a_folder_of_its_volume() -> None:
    """It is not the volume's root, where a new file system has a folder lost+found that makes the broker fail."""
    broker = dict(pods("tryout"))["graphtide-kafka"]["spec"]["containers"][0]
    (folder,) = (entry["value"] for entry in broker["env"] if entry["name"] == "KAFKA_LOG_DIRS")
    (mount,) = (one["mountPath"] for one in broker["volumeMounts"] if one["name"] == "data")
    assert folder.startswith(f"{mount}/")


def test_every_pod_has_a_network_policy() -> None:
    """Every connection from or to a pod of the release needs a rule."""
    selectors = [
        one["spec"]["podSelector"]["matchLabels"].items()
        for one in manifests("everything")
        if one["kind"] == "NetworkPolicy"
    ]
    for name, template in pods("everything"):
        labels = template["metadata"]["labels"].items()
        assert sum(wanted <= labels for wanted in selectors) == 1, name


def test_values_under_settings_are_settings() -> None:
    """The keys of `settings` in every values file are names that docs/settings.md has."""
    for file in [CHART / "values.yaml", *(CHART / "ci").glob("*.yaml")]:
        values = yaml.safe_load(file.read_text())
        groups = [values.get("settings", {}), values.get("secret", {}).get("values", {})]
        groups += [process.get("settings", {}) for process in values.get("processes", {}).values()]
        for name in (name for group in groups for name in group):
            assert name in Settings.model_fields, f"{file.name}: {name}"


def test_autoscaled_workloads_leave_their_replicas_to_the_scaler() -> None:
    """A replica count with an autoscaler would reset its work at each upgrade."""
    workloads = {one["metadata"]["name"]: one for one in manifests("everything") if one["kind"] == "Deployment"}
    assert [name for name, one in workloads.items() if "replicas" in one["spec"]] == ["graphtide-summarize"]


def test_keda_scales_by_the_lag_of_the_consumer_group_that_extraction_has() -> None:
    """The scaler watches the code's names of the topic and the group, and replaces the other scaler."""
    from graphtide.streams.messages import DOCUMENTS

    scaled = [one for one in manifests("external") if one["kind"] == "ScaledObject"]
    (trigger,) = scaled[0]["spec"]["triggers"]
    assert trigger["metadata"]["topic"] == DOCUMENTS
    assert trigger["metadata"]["consumerGroup"] == "graphtide-extract"
    assert trigger["metadata"]["bootstrapServers"].startswith("broker-0.")
    assert not [one for one in manifests("external") if one["kind"] == "HorizontalPodAutoscaler"]


def test_install_without_servers_is_refused_with_the_cure() -> None:
    """Without Kafka or a graph database Helm names the value to set."""
    assert "settings.kafka is empty" in refused()
    assert "settings.bolt is empty" in refused("--set", "settings.kafka=k:9092")


def test_install_with_a_misspelt_value_is_refused() -> None:
    """A value that the chart does not know is an error instead of being ignored."""
    assert "networkPolicies" in refused("--set", "kafka.deploy=true,memgraph.deploy=true,networkPolicies.enabled=false")


def environment(*arguments: str) -> dict[str, str]:
    """Return the gateway's environment, rendered with the arguments."""
    command = [str(go_tools.helm()), "template", "graphtide", str(CHART), "--kube-version", KUBERNETES, *arguments]
    rendered = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    [gateway] = [
        manifest
        for manifest in yaml.safe_load_all(rendered)
        if manifest and manifest["kind"] == "Deployment" and manifest["metadata"]["name"] == "graphtide-gateway"
    ]
    variables = gateway["spec"]["template"]["spec"]["containers"][0]["env"]
    return {variable["name"]: variable.get("value", "") for variable in variables}


def test_chart_passes_a_setting_by_its_present_name_when_the_old_one_is_given() -> None:
    """Old names set the present ones, which alone reach processes: the chart's own values do not clash."""
    servers = ("--set", "settings.kafka=k:9092,settings.bolt=bolt://b:7687,credentials.insecure=true")
    for place in ("settings", "processes.gateway.settings"):
        given = environment(*servers, "--set", ",".join(f"{place}.{old}=7" for old in RENAMED))
        assert {given[f"GRAPHTIDE_{new.upper()}"] for new in RENAMED.values()} == {"7"}
        assert not {f"GRAPHTIDE_{old.upper()}" for old in RENAMED} & given.keys()
    assert environment(*servers)["GRAPHTIDE_ALLOW_UNAUTHENTICATED"] == "true"
    both = refused(*servers, "--set", "settings.drain_s=1,settings.shutdown_delay_s=2")
    assert "drain_s and shutdown_delay_s are the same setting" in both
