import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import project from "../../../package.json" with { type: "json" };

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
