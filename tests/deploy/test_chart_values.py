"""The Helm chart's values that several templates use: ports, prefixes, files, delays and credentials."""

from __future__ import annotations

import json
import re
import subprocess
from typing import Any

import pytest
import yaml

from graphtide.infra.renamed_settings import RENAMED
from graphtide.infra.settings import Settings
from tests.deploy.test_chart import CHART, ELSEWHERE, KUBERNETES, WORKERS, egress, refused, rendered
from tests.support import go_tools

Manifest = dict[str, Any]

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(900)]
RULES = CHART / "files" / "rules.yml"
SERVERS = ("--set", "settings.kafka=k:9092,settings.bolt=bolt://b:7687")


def found(kind: str, *arguments: str) -> dict[str, Manifest]:
    """Return the manifests of a kind, by name, of the chart rendered with servers, permission and the arguments."""
    ours = [one for one in yaml.safe_load_all(rendered(*ELSEWHERE, *arguments)) if one and one["kind"] == kind]
    return {one["metadata"]["name"]: one for one in ours}


def pod(component: str, *arguments: str) -> Manifest:
    """Return the specification of a component's pods."""
    kind = "StatefulSet" if component == "consolidate" else "Deployment"
    spec: Manifest = found(kind, *arguments)[f"graphtide-{component}"]["spec"]["template"]["spec"]
    return spec


def variables(spec: Manifest) -> dict[str, str]:
    """Return the environment of a pod's container."""
    return {one["name"]: one["value"] for one in spec["containers"][0]["env"]}


def test_alerts_select_the_job_of_every_process() -> None:
    """The name that the ServiceMonitor gives a component's job matches each selector of jobs in the rules."""
    selected = set(re.findall(r'job=~"([^"]+)"', RULES.read_text()))
    assert selected
    monitor = found("ServiceMonitor", "--set", "serviceMonitor.enabled=true")["graphtide"]
    (relabeling,) = monitor["spec"]["endpoints"][0]["relabelings"]
    assert relabeling["targetLabel"] == "job"
    for component in WORKERS:
        job = relabeling.get("replacement", "$1").replace("$1", component)
        assert all(re.fullmatch(pattern, job) for pattern in selected), job


@pytest.mark.parametrize("delay", ["shutdown_delay_s", "drain_s"])
def test_pod_has_time_for_its_delay_and_its_drain(delay: str) -> None:
    """Kubernetes waits for preStop (5 s), the delay and the drain, with 10 s to spare; fractions are rounded up."""
    given = f"settings.{delay}=30,settings.shutdown_timeout_s=60.5"
    assert pod("gateway", "--set", given)["terminationGracePeriodSeconds"] == 15 + 30 + 61
    assert pod("query")["terminationGracePeriodSeconds"] == 35


def test_extraction_alone_reaches_a_schema_registry() -> None:
    """`networkPolicy.egress.registry` names it; where it names nothing, the registry may be at any address."""
    url = ("--set", "settings.schema_registry_url=https://registry:8081")
    names = {"kafka": "10.0.0.1/32", "bolt": "10.0.0.2/32", "registry": "10.0.0.9/32"}
    peers = [f'networkPolicy.egress.{name}=[{{"ipBlock":{{"cidr":"{cidr}"}}}}]' for name, cidr in names.items()]
    rules = egress(*ELSEWHERE, *url, *(part for one in peers for part in ("--set-json", one)))
    reached = [name for name in rules if {"to": [{"ipBlock": {"cidr": "10.0.0.9/32"}}]} in rules[name]]
    assert reached == ["extract"]
    rules = egress(*ELSEWHERE, *url, *(part for one in peers[:2] for part in ("--set-json", one)))
    assert [name for name in rules if {} in rules[name]] == ["extract"]


def test_keda_watches_the_names_with_the_prefix() -> None:
    """Topic and group have the prefix of a shared cluster, as the processes have it."""
    from graphtide.infra.kafka.address import KafkaAddress
    from graphtide.streams.messages import DOCUMENTS

    address = KafkaAddress("k:9092", prefix="acme-")
    scaled = found("ScaledObject", "--set", "keda.enabled=true,settings.kafka_prefix=acme-")["graphtide-extract"]
    watched = scaled["spec"]["triggers"][0]["metadata"]
    assert (watched["topic"], watched["consumerGroup"]) == (address.topic(DOCUMENTS), address.group("extract"))


def test_ports_of_pods_and_services_are_those_of_the_settings() -> None:
    """Processes listen where probes, Services and the gateway look, also when one process has its own port."""
    given = ("--set", "settings.port=9000,settings.metrics_port=9001,processes.query.settings.grpc_port=9002")
    ports = {
        name: {one["name"]: one["containerPort"] for one in pod(name, *given)["containers"][0]["ports"]}
        for name in WORKERS
    }
    assert all(each.pop("metrics") == 9001 for each in ports.values())
    assert (ports["gateway"], ports["query"], ports["extract"]) == ({"http": 9000}, {"grpc": 9002}, {})
    service = found("Service", *given)["graphtide-query"]
    assert service["spec"]["ports"][0]["port"] == 9002
    assert variables(pod("gateway", *given))["GRAPHTIDE_QUERY_TARGET"] == "dns:///graphtide-query:9002"
    assert "settings.port is 0" in refused(*ELSEWHERE, "--set", "settings.port=0")


def test_schema_of_values_knows_the_settings_and_no_other_name() -> None:
    """A misspelt setting is refused by its name; the list in the schema is that of Settings, and the old names."""
    schema = json.loads((CHART / "values.schema.json").read_text())
    names = list(schema["definitions"]["settings"]["properties"])
    assert names == sorted({*Settings.model_fields, *RENAMED})
    for place in ("settings", "processes.query.settings", "secret.values"):
        assert "llm_modle" in refused(*ELSEWHERE, "--set", f"{place}.llm_modle=m")


def test_files_are_mounted_in_the_processes_that_name_them() -> None:
    """An entry is a read-only folder of each of its processes, or of all, the Job of topics included."""
    entries = [{"name": "jwt", "secret": "keys", "processes": ["gateway"]}, {"name": "rules", "configMap": "c"}]
    given = ("--set-json", f"files={json.dumps(entries)}")
    job = found("Job", *given)["graphtide-topics-1"]["spec"]["template"]["spec"]
    folders = {}
    for name, spec in {"topics": job, **{name: pod(name, *given) for name in WORKERS}}.items():
        volumes = {one["name"] for one in spec["volumes"]}
        mounts = spec["containers"][0]["volumeMounts"]
        assert {one["name"] for one in mounts} == volumes
        folders[name] = {one["mountPath"] for one in mounts if one["name"].startswith("files-") and one["readOnly"]}
    assert folders.pop("gateway") == {"/etc/graphtide/files/jwt", "/etc/graphtide/files/rules"}
    assert all(each == {"/etc/graphtide/files/rules"} for each in folders.values())
    assert "entry a needs either" in refused(*ELSEWHERE, "--set", "files[0].name=a")


def test_install_whose_servers_would_refuse_to_start_is_refused() -> None:
    """Without credentials or permission Helm names the servers and the values that give them some."""
    assert "gateway and query would refuse to start" in refused(*SERVERS)
    mutual = ("--set", "tls.existingSecret=t,tls.mutual=true")  # certificates of clients protect the gateway alone
    assert "query would refuse to start" in refused(*SERVERS, *mutual)
    for given in (
        "credentials.existingSecret=keys",
        "credentials.allowUnauthenticated=true",
        "settings.jwt_key_file=/etc/graphtide/files/jwt/key.pem",
        "settings.host=127.0.0.1",
        "secret.existing=s",
        "secret.values.api_keys_file=/keys",
    ):
        command = [str(go_tools.helm()), "template", "graphtide", str(CHART), "--kube-version", KUBERNETES, *SERVERS]
        done = subprocess.run([*command, "--set", given], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
