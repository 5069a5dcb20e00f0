import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import project from "../../../package.json" with { type: "json" };
import { parseServeArguments } from "../../../scripts/serve/arguments.ts";

const read = (path: string) => readFileSync(join(import.meta.dirname, "../../../ops", path), "utf8");
const IMAGE = read("container/Containerfile");
const [set, service] = parseAllDocuments(read("kubernetes/grove.yaml")).map((document) => document.toJS());
const pod = set.spec.template.spec;
const [container] = pod.containers;

it("nothing is built with what a tag can be moved to, but the base images, which can be named by digest", () => {
  const workflows = ["ci", "release"].map((name) => read(`../.github/workflows/${name}.yml`)).join("\n");
  const actions = [...workflows.matchAll(/uses: (\S+)/g)].map(([, action]) => action);
  expect(actions.length).toBeGreaterThan(3);
  expect(actions.filter((action) => !/^actions\/[a-z-]+@[0-9a-f]{40}$/.test(action ?? ""))).toEqual([]);
  expect(IMAGE.match(/^FROM \S+/gm)).toEqual(["FROM ${NODE_IMAGE}", "FROM ${DEBIAN_IMAGE}"]);
  const install = read("container/assemble.sh");
  expect(install).toContain("npm ci ");
  expect(install).not.toContain("npm install");
});

describe("the manifests for Kubernetes", () => {
  it("run the user, the port and the volume of the image", () => {
    const { runAsUser, runAsGroup } = pod.securityContext;
    expect(IMAGE).toContain(`USER ${runAsUser}:${runAsGroup}\n`);
    expect(IMAGE).toContain(`EXPOSE ${container.ports[0].containerPort}\n`);
    expect(IMAGE).toContain(`VOLUME ${container.volumeMounts[0].mountPath}\n`);
    expect(container.image).toBe(`grove:${project.version}`);
  });

  it("give the process nothing that it does not need", () => {
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    expect(pod.automountServiceAccountToken).toBe(false);
  });

  it("start one server", () => expect(set.spec.replicas).toBe(1));

  it("lead the service to the pod", () => {
    expect(service.spec.selector).toEqual(set.spec.template.metadata.labels);
    expect(service.spec.ports[0].targetPort).toBe(container.ports[0].name);
  });
});

describe("the manifests of a cluster", () => {
  const documents = parseAllDocuments(read("kubernetes/grove-cluster.yaml")).map((document) => document.toJS());
  const of = (kind: string) => documents.filter((document) => document.kind === kind);
  const [nodes] = of("StatefulSet");
  const { spec } = nodes.spec.template;
  const [node] = spec.containers;
  const compose = parse(read("compose/grove-cluster.yaml"), { merge: true });

  it("run what the manifest of one server runs, with the same rights", () => {
    expect(node.securityContext).toEqual(container.securityContext);
    expect(spec.securityContext).toEqual(pod.securityContext);
    expect(node.image).toBe(container.image);
    expect(node.volumeMounts).toEqual(container.volumeMounts);
    for (const one of ["node-1", "node-2", "node-3"]) expect(compose.services[one].image).toBe(container.image);
  });

  it("have flags that a node takes", () => {
    const ofCompose = ["node-1", "node-2", "node-3"].map((name) => compose.services[name].command);
    const ofKubernetes = node.args.map((word: string) => word.replace("$(POD_NAME)", "grove-0"));
    for (const words of [ofKubernetes, ...ofCompose]) {
      const command = parseServeArguments(words);
      expect(command).toMatchObject({ ok: true, value: { cluster: { listen: { port: 7000 } } } });
    }
    expect(ofKubernetes[2]).toContain(`.${nodes.spec.serviceName}:7000`);
  });

  it("give a hand-over its time, and take a node that is not ready out of the service at once", () => {
    expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(15);
    expect(compose["x-node"].stop_grace_period).toBe("30s");
    expect(node.readinessProbe).toMatchObject({ httpGet: { path: "/ready" }, periodSeconds: 1, failureThreshold: 1 });
  });

  it("lose one node at a time", () => {
    const [budget] = of("PodDisruptionBudget");
    expect(nodes.spec.replicas - budget.spec.maxUnavailable).toBe(2);
    expect(spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey).toBe(
      "kubernetes.io/hostname",
    );
  });

  it("let nodes alone reach the port of nodes", () => {
    const [policy] = of("NetworkPolicy");
    const rule = policy.spec.ingress.find(({ ports }: { ports: { port: string }[] }) => ports[0]?.port === "peers");
    expect(rule.from).toEqual([{ podSelector: nodes.spec.selector }]);
  });
});
