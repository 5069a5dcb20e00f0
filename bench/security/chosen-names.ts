import { type Check, createToken, must } from "./check.ts";
import type { Subject } from "./subject.ts";

/** What names that a client chooses, of roles above all, could do. */
export const CHOSEN_NAMES: readonly Check[] = [
  { name: "a role in the body of a creation", attack: roleInBody },
  { name: "made-up roles among the labels of metrics", attack: rolesAsLabels },
  { name: "logins that can't be read, past a role's quota", attack: unreadableLogins },
];

async function roleInBody(subject: Subject): Promise<string> {
  const policy = 'path "auth/token/create" { capabilities = ["create", "update", "sudo"] }';
  await subject.call("POST", "sys/policies/acl/maker", { body: { policy } });
  await subject.call("POST", "auth/token/roles/wide", { body: { allowed_policies: "admin" } });
  const { token } = await createToken(subject, { policies: ["maker"] });
  const body = { role_name: "wide", policies: ["admin"] };
  const { status } = await subject.call("POST", "auth/token/create", { token, body });
  must(status === 403, `the creation was answered with ${status}`);
  return "403: judged as auth/token/create/<role>";
}

async function rolesAsLabels(subject: Subject): Promise<string> {
  await subject.call("POST", "sys/auth/labelled", { body: { type: "aws" } });
  const proof = { iam_http_request_method: "POST", iam_request_url: "eA==", iam_request_body: "eA==" };
  for (const role of ["made-up-1", "made-up-2"]) {
    const body = { role, ...proof, iam_request_headers: "e30=" };
    await subject.call("POST", "auth/labelled/login", { token: "", body });
  }
  const metrics = JSON.stringify((await subject.call("GET", "sys/metrics")).body);
  must(metrics.includes("auth/labelled/"), "the logins are not counted");
  must(!metrics.includes("made-up"), "the names are labels");
  return "counted together, without their names";
}

async function unreadableLogins(subject: Subject): Promise<string> {
  await subject.call("POST", "sys/auth/counted", { body: { type: "aws" } });
  const path = "auth/counted";
  await subject.call("POST", "sys/quotas/rate-limit/counted", { body: { path, rate: 3, interval: "1m" } });
  await subject.call("POST", "sys/quotas/rate-limit/counted-web", { body: { path, role: "web", rate: 3 } });
  const statuses: number[] = [];
  for (let i = 0; i < 5; i++) {
    statuses.push((await subject.call("POST", `${path}/login`, { token: "", body: ["no object"] })).status);
  }
  must(statuses.join() === "400,400,400,429,429", `answered ${statuses.join(", ")}`);
  return "429 after the mount's number";
}
