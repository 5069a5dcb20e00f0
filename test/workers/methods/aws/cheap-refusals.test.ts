import { beforeAll, describe, expect, it } from "vitest";
import { DocumentSigner, signCaller } from "../../../support/cloud-login.ts";
import { type CloudMount, HOME, mountCloud, refusalOf, serverUser } from "../../../support/cloud-mount.ts";
import { FakeCloud } from "../../../support/fake-cloud/fake-cloud.ts";
import { replaceInternet } from "../../../support/fake-cloud/outbound.ts";
import { initialized } from "../../../support/service.ts";

const cloud = new FakeCloud();
const signer = new DocumentSigner();
let root: string;
let mount: CloudMount;

/** A proof that can't be read: a route that answers with another refusal did not read it. */
const PROOF = { pkcs7: "***" };

beforeAll(async () => {
  root = await initialized();
  replaceInternet(cloud);
  mount = await mountCloud(root, "cloud", cloud, signer);
  await mount.write("role/web", { auth_type: "vm", bound_account_id: HOME });
  await mount.write("role/people", { bound_iam_principal_arn: `arn:aws:iam::${HOME}:*` });
  await mount.write("role/office", { auth_type: "vm", bound_account_id: HOME, token_bound_cidrs: "192.0.2.0/24" });
});

describe("a login is refused before its proof is read", () => {
  it("when its role does not exist or can't exist", async () => {
    for (const role of ["nobody", "../config/client", "x".repeat(200)]) {
      const [status, text] = refusalOf(await mount.login({ role, ...PROOF }));
      expect([status, text]).toEqual([400, expect.stringMatching(/^entry for role ("nobody" )?not found$/)]);
    }
  });

  it("when its role takes the other kind of login", async () => {
    const refused = "auth method vm not allowed for role people";
    expect(refusalOf(await mount.login({ role: "People", ...PROOF }))).toEqual([400, refused]);
  });

  it("when its role does not take its address", async () => {
    const far = { "CF-Connecting-IP": "198.51.100.7" };
    expect(refusalOf(await mount.login({ role: "office", ...PROOF }, far))).toEqual([403, "permission denied"]);
    const near = { "CF-Connecting-IP": "192.0.2.7" };
    expect(refusalOf(await mount.login({ role: "office", ...PROOF }, near))[1]).toMatch(/base64 decode/);
  });

  it("when it names no role and none of the mount could be meant", async () => {
    expect(refusalOf(await mount.login(PROOF))).toEqual([400, "entry for role not found"]);
    await mount.write("role/ami-0123456789abcdef0", { auth_type: "vm", bound_account_id: HOME });
    expect(refusalOf(await mount.login(PROOF))[1]).toMatch(/base64 decode/);
    const empty = await mountCloud(root, "empty", cloud, signer);
    const signed = await signCaller(cloud.world.addKey(serverUser(cloud)));
    expect(refusalOf(await empty.login(signed))).toEqual([400, "entry for role not found"]);
  });

  it("and no request is sent for it", async () => {
    const before = cloud.calls.length;
    const signed = await signCaller(cloud.world.addKey(serverUser(cloud)));
    await mount.login({ role: "nobody", ...signed });
    await mount.login({ role: "web", ...signed });
    expect(cloud.calls.length).toBe(before);
  });
});
