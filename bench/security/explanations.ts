import { text } from "../servers/client.ts";
import { type Check, createToken, must } from "./check.ts";
import type { Subject } from "./subject.ts";

/** What explanations, lists of refused logins and filters of tokens could say to those who ask. */
export const EXPLANATIONS: readonly Check[] = [
  { name: "3 an explanation of another token", attack: explainOther },
  { name: "3 an explanation that costs no use", attack: freeExplanation },
  { name: "3 texts of strangers among refused logins", attack: refusedLogins },
  { name: "3 a token as any field of a filter", attack: tokenAsFilter },
];

async function explainOther(subject: Subject): Promise<string> {
  const policy = 'path "kept/*" { capabilities = ["read"] }';
  await subject.call("POST", "sys/policies/acl/of-another", { body: { policy } });
  const { accessor } = await createToken(subject, { policies: ["of-another"] });
  const { token } = await createToken(subject, {});
  const other = await subject.call("POST", "sys/explain/access", { token, body: { accessor, path: "kept/x" } });
  must(other.status === 403, `it was answered with ${other.status}`);
  const own = await subject.call("POST", "sys/explain/access-self", { token, body: { path: "kept/x" } });
  must(own.status === 200, `that of its own was answered with ${own.status}`);
  must(!JSON.stringify(own.body).includes("of-another"), "it names a policy of another token");
  return "403; of its own policies alone";
}

async function freeExplanation(subject: Subject): Promise<string> {
  const { token } = await createToken(subject, { num_uses: 2 });
  const ask = async () =>
    (await subject.call("POST", "sys/explain/access-self", { token, body: { path: "kept/x" } })).status;
  const statuses = [await ask(), await ask(), await ask()];
  must(statuses.join() === "200,200,403", `answered ${statuses.join(", ")}`);
  return "each costs one";
}

async function refusedLogins(subject: Subject): Promise<string> {
  await subject.call("POST", "sys/auth/refusing", { body: { type: "jwt" } });
  const body = { role_type: "jwt", user_claim: "sub", bound_subject: "x", policies: "default" };
  const { status: written } = await subject.call("POST", "auth/refusing/role/web", { body });
  must(written === 204, `the role was answered with ${written}`);
  const claims = Buffer.from('{"sub":"made-up-subject"}').toString("base64url");
  for (let n = 0; n < 60; n++) {
    const role = n % 2 === 0 ? "web" : `made-up-${n}`;
    const login = { role, jwt: `eyJhbGciOiJSUzI1NiJ9.${claims}.AAAA` };
    await subject.call("POST", "auth/refusing/login", { token: "", body: login });
  }
  const listed = await subject.call("GET", "auth/refusing/explain/refused");
  const shown = JSON.stringify(listed.body);
  must(listed.status === 200 && shown.includes("first_time"), "no refusal is listed");
  must(!shown.includes("made-up") && !shown.includes(claims), "a text of the client is kept");
  const { token } = await createToken(subject, {});
  const { status } = await subject.call("GET", "auth/refusing/explain/refused", { token });
  must(status === 403, `the default policy was answered with ${status}`);
  return "counted by check, without their texts";
}

async function tokenAsFilter(subject: Subject): Promise<string> {
  const { token } = await createToken(subject, {});
  for (const [name, value] of [
    ["display_name", `${token}*`],
    ["path_prefix", `auth/${token}`],
    ["metadata", { owner: token }],
    ["search", token],
  ] as const) {
    const body = { [name]: value, dry_run: false, expected_count: 0 };
    const refused = await subject.call("POST", "sys/tokens/revoke", { body });
    must(refused.status === 400, `${name} was answered with ${refused.status}`);
    must(!JSON.stringify(refused.body).includes(token), "the refusal repeats the token");
  }
  const jobs = JSON.stringify((await subject.call("GET", "sys/tokens/jobs")).body);
  must(!jobs.includes(token), "a job keeps the token");
  const found = await subject.call("POST", "sys/tokens/find", { body: { token } });
  must(text(found.body, "data", "accessor") !== "", "sys/tokens/find does not know it");
  return "400; nothing is kept";
}
