import { z } from "zod";
import { currentTime } from "../clock.ts";
import type { Env } from "../env.ts";
import { type Failure, invalid } from "../errors.ts";
import { text } from "../http/fields.ts";
import { PAGE, type Page } from "../http/page.ts";
import type { Reply } from "../http/reply.ts";
import { type CallContext, judgedAs, type Route, simpleRoute } from "../http/route.ts";
import {
  isHiddenPolicy,
  policyDeleteRefusal,
  policyWriteRefusal,
  RESPONSE_WRAPPING_POLICY,
  RESPONSE_WRAPPING_POLICY_TEXT,
} from "../policy/builtin.ts";
import { normalizePolicyName, policyNameProblem, ROOT_POLICY } from "../policy/name.ts";
import { parsePolicy, policyErrorText } from "../policy/parse.ts";
import { err, ok, type Result } from "../result.ts";
import { refreshInstallation } from "./installation.ts";
import { systemOf } from "./system.ts";

const NAMES = z.object(PAGE);

/** Policies, at the two places where clients look for them. */
export const POLICY_ROUTES: readonly Route[] = judgedAs(spellPolicyPath, [
  simpleRoute(["read", "list"], "sys/policy", NAMES, async ({ env, fields }) => {
    const keys = page(await listNames(env, ""), fields);
    return ok({ kind: "data", data: { keys, policies: keys }, inject: true });
  }),
  simpleRoute("list", "sys/policy/:prefix{.+}", NAMES, listBelow),
  simpleRoute("read", "sys/policy/:name{.+}", z.object({}), (context) => read(context, "rules")),
  simpleRoute("update", "sys/policy/:name{.+}", z.object({ policy: text(), rules: text() }), (context) =>
    write(context, context.fields.policy || context.fields.rules, context.fields.rules !== ""),
  ),
  simpleRoute("delete", "sys/policy/:name{.+}", z.object({}), remove),

  simpleRoute("list", "sys/policies/acl", NAMES, async ({ env, fields }) =>
    ok({ kind: "data", data: { keys: page(await listNames(env, ""), fields) } }),
  ),
  simpleRoute("list", "sys/policies/acl/:prefix{.+}", NAMES, listBelow),
  simpleRoute("read", "sys/policies/acl/:name{.+}", z.object({}), (context) => read(context, "policy")),
  simpleRoute("update", "sys/policies/acl/:name{.+}", z.object({ policy: text() }), (context) =>
    write(context, context.fields.policy, false),
  ),
  simpleRoute("delete", "sys/policies/acl/:name{.+}", z.object({}), remove),
]);

/** The path with the name of the policy as it is stored. */
function spellPolicyPath(path: string): string {
  return path.replace(/(?<=^sys\/(?:policy|policies\/acl)\/).*$/s, normalizePolicyName);
}

type NamedCall = Pick<CallContext<unknown, unknown>, "env" | "params">;

async function listNames(env: Env, prefix: string): Promise<string[]> {
  const names = (await systemOf(env).listPolicies()).filter((name) => !isHiddenPolicy(name) && name.startsWith(prefix));
  return prefix === "" ? [...names, ROOT_POLICY] : names;
}

async function listBelow({
  env,
  params,
  fields,
}: Pick<CallContext<z.infer<typeof NAMES>, unknown>, "env" | "params" | "fields">): Promise<Result<Reply, Failure>> {
  const names = await listNames(env, `${normalizePolicyName(params.prefix ?? "")}/`);
  return ok({ kind: "data", data: { keys: page(names, fields) } });
}

function page(names: readonly string[], { after, limit }: Page): string[] {
  const rest = after === "" ? [...names] : names.filter((name) => name > after);
  return limit > 0 ? rest.slice(0, limit) : rest;
}

async function read({ env, params }: NamedCall, textKey: "rules" | "policy"): Promise<Result<Reply, Failure>> {
  const name = normalizePolicyName(params.name ?? "");
  const shown = (policyText: string, version: number, modifiedAt: number): Result<Reply, Failure> =>
    ok({
      kind: "data",
      inject: textKey === "rules",
      data: {
        name,
        [textKey]: policyText,
        version,
        cas_required: false,
        modified: new Date(modifiedAt).toISOString(),
      },
    });
  if (name === ROOT_POLICY) return shown("", 0, 0);
  if (name === RESPONSE_WRAPPING_POLICY) return shown(RESPONSE_WRAPPING_POLICY_TEXT, 0, 0);
  const stored = await systemOf(env).readPolicy(name);
  return stored ? shown(stored.text, stored.version, stored.modifiedAt) : err({ code: "not_found" });
}

async function write(
  { env, params }: NamedCall,
  policyText: string,
  deprecatedField: boolean,
): Promise<Result<Reply, Failure>> {
  const asSent = params.name ?? "";
  const name = normalizePolicyName(asSent);
  const problem = policyNameProblem(name) ?? policyWriteRefusal(name);
  if (problem) return err(invalid(problem));
  if (policyText === "") return err(invalid("'policy' parameter not supplied or empty"));
  const now = currentTime();
  const parsed = parsePolicy(policyText, now);
  if (!parsed.ok) return err(invalid(policyErrorText(parsed.error)));
  const written = await systemOf(env).writePolicy(name, policyText, JSON.stringify(parsed.value), now);
  if (!written.ok) return written;
  await refreshInstallation(env);
  const warnings = [
    ...(deprecatedField ? ["'rules' is deprecated, please use 'policy' instead"] : []),
    ...(name === asSent ? [] : [`policy name was converted to ${name}`]),
  ];
  return ok({ kind: "empty", warnings });
}

async function remove({ env, params }: NamedCall): Promise<Result<Reply, Failure>> {
  const name = normalizePolicyName(params.name ?? "");
  const refusal = policyDeleteRefusal(name);
  if (refusal) return err(invalid(refusal));
  await systemOf(env).deletePolicy(name);
  await refreshInstallation(env);
  return ok({ kind: "empty" });
}
