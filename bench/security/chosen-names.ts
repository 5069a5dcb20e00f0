import { member } from "../servers/client.ts";
import { type Checks, must, repeated, tokenWith } from "./check.ts";

/** Attacks with names that the client chooses, mainly role names. */
export const CHOSEN_NAMES: Checks = {
  async "a token role named in the body"(subject) {
    const policy = 'path "auth/token/create" { capabilities = ["create", "update", "sudo"] }';
    await subject.call("POST", "auth/token/roles/wide", { body: { allowed_policies: "admin" } });
    const token = await tokenWith(subject, "maker", policy);
    const body = { role_name: "wide", policies: ["admin"] };
    await subject.answers(403, "POST", "auth/token/create", { token, body });
    return "403: authorized as auth/token/create/<role>";
  },

  async "unknown roles as metric labels"(subject) {
    await subject.call("POST", "sys/auth/labelled", { body: { type: "aws" } });
    const proof = { iam_http_request_method: "POST", iam_request_url: "eA==", iam_request_body: "eA==" };
    for (const role of ["made-up-1", "made-up-2"]) {
      const body = { role, ...proof, iam_request_headers: "e30=" };
      await subject.call("POST", "auth/labelled/login", { token: "", body });
    }
    const metrics = JSON.stringify((await subject.call("GET", "sys/metrics")).body);
    must(metrics.includes("auth/labelled/"), "the logins are not counted");
    must(!metrics.includes("made-up"), "the names are labels");
    return "counted in one series, without their names";
  },

  async "malformed logins to avoid a role's quota"(subject) {
    await subject.call("POST", "sys/auth/counted", { body: { type: "aws" } });
    const path = "auth/counted";
    await subject.call("POST", "sys/quotas/rate-limit/counted", { body: { path, rate: 3, interval: "1m" } });
    await subject.call("POST", "sys/quotas/rate-limit/counted-web", { body: { path, role: "web", rate: 3 } });
    const login = () => subject.call("POST", `${path}/login`, { token: "", body: ["no object"] });
    const statuses = await repeated(5, login);
    must(statuses.join() === "400,400,400,429,429", `answered ${statuses.join(", ")}`);
    return "429 by the mount's quota";
  },

  async "a role as a JSON number to avoid its quota"(subject) {
    await subject.call("POST", "sys/auth/numbered", { body: { type: "jwt" } });
    const quota = { path: "auth/numbered", role: "7", rate: 1, interval: "1m" };
    await subject.call("POST", "sys/quotas/rate-limit/numbered", { body: quota });
    const login = () => subject.call("POST", "auth/numbered/login", { token: "", body: { role: 7 } });
    const statuses = await repeated(2, login);
    must(statuses.join() === "400,429", `answered ${statuses.join(", ")}`);
    return "429, as for the string";
  },

  async "a lease in the body, outside the granted path"(subject) {
    const token = await tokenWith(subject, "leases", 'path "sys/leases/revoke/ci/*" { capabilities = ["update"] }');
    const body = { lease_id: "prod/creds/x" };
    await subject.answers(403, "POST", "sys/leases/revoke/ci/x", { token, body });
    return "403: authorized as sys/leases/revoke/<lease>";
  },

  async "null instead of a denied value"(subject) {
    const name = "denied-null";
    await subject.call("POST", "identity/entity", { body: { name, disabled: true } });
    const rule = `path "identity/entity/name/${name}"`;
    const denied = `${rule} { capabilities = ["update"] denied_parameters = { disabled = [false] } }`;
    const token = await tokenWith(subject, "denied", denied);
    const path = `identity/entity/name/${name}`;
    await subject.answers(403, "POST", path, { token, body: { disabled: false } });
    await subject.call("POST", path, { token, body: { disabled: null } });
    const { body } = await subject.call("GET", path);
    must(member(body, "data", "disabled") === true, "the entity is enabled");
    return "null changes nothing";
  },
};
