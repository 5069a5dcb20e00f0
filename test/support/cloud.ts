import { cloudAuthAt } from "../../src/methods/aws/mount/mount-config.ts";
import { loadInstallation } from "../../src/system/installation.ts";
import type { Mount } from "../../src/system/mount.ts";
import { type Answer, bindings, call } from "./service.ts";

/** The words of the two mount types, for scenarios that are played in both. */
export const VOCABULARIES = [
  {
    type: "cloud",
    vm: "vm",
    vm_instance: "vm_instance",
    vm_alias: "vm_alias",
    vm_metadata: "vm_metadata",
    image_id: "image_id",
    bound_image_id: "bound_image_id",
    bound_vm_instance_id: "bound_vm_instance_id",
    inferred_cloud_region: "inferred_cloud_region",
    resolve_cloud_unique_ids: "resolve_cloud_unique_ids",
    cloud_public_cert: "cloud_public_cert",
  },
  {
    type: "aws",
    vm: "ec2",
    vm_instance: "ec2_instance",
    vm_alias: "ec2_alias",
    vm_metadata: "ec2_metadata",
    image_id: "ami_id",
    bound_image_id: "bound_ami_id",
    bound_vm_instance_id: "bound_ec2_instance_id",
    inferred_cloud_region: "inferred_aws_region",
    resolve_cloud_unique_ids: "resolve_aws_unique_ids",
    cloud_public_cert: "aws_public_cert",
  },
] as const;

export type Words = (typeof VOCABULARIES)[number];

/** Enables a method and returns what sends requests to it. `path` has no slash at its end. */
export async function enableCloud(root: string, path: string, type: string) {
  const enabled = await call("POST", `sys/auth/${path}`, { token: root, body: { type } });
  if (enabled.status !== 204) throw new Error(`enabling answered ${enabled.status}`);
  return cloudAt(root, path);
}

/** Requests with `token` to the method at `path`. */
export function cloudAt(token: string, path: string) {
  const send = (method: string, below: string, body?: unknown): Promise<Answer> =>
    call(method, `auth/${path}/${below}`, { token, ...(body !== undefined && { body }) });
  return {
    path,
    get: (below: string) => send("GET", below),
    post: (below: string, body: unknown = {}) => send("POST", below, body),
    remove: (below: string) => send("DELETE", below),
    list: (below: string, query = "") => send("GET", `${below}?list=true${query}`),
  };
}

/** The mount at `path`. */
export async function mountRow(path: string): Promise<Mount> {
  const loaded = await loadInstallation(bindings);
  const mount = loaded.ok ? loaded.value.mountAt(`${path}/`) : undefined;
  if (!mount) throw new Error("no such mount");
  return mount;
}

/** The object of the mount at `path`. */
export async function cloudObject(path: string) {
  return cloudAuthAt(bindings, await mountRow(path));
}
