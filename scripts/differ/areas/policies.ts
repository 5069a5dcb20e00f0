import type { Choices } from "../../local/choices.ts";
import type { Round } from "../round.ts";

const SEGMENTS = ["a", "b", "+", "ab", "b+", "c"] as const;
const WORDS = ["a", "b", "ab", "b+", "c", "x"] as const;
const CAPABILITIES = ["create", "read", "update", "delete", "list", "sudo", "deny", "patch", "scan"] as const;
const FORMER = ["read", "write", "sudo", "deny"] as const;
const PARAMETERS = [
  '"a" = []',
  '"a" = ["good", 1]',
  '"b" = ["bad*"]',
  '"*" = []',
  '"c" = [true]',
  '"a" = ["*good"]',
] as const;
const VALUES = [1, "good", "bad", "bad apple", true, null, ["x"], { y: 1 }, "3"] as const;

/** Policies of few words, so that their rules meet: what they decide about requests to a cubbyhole, and what they say. */
export async function policies(round: Round): Promise<void> {
  const { choices, prefix } = round;
  const names = [`${prefix}p0`, `${prefix}p1`];
  for (const name of names) {
    const policy = Array.from({ length: 1 + choices.below(4) }, () => ruleOf(choices)).join("\n");
    await round.post(`sys/policies/acl/${name}`, { policy });
    await round.get(`sys/policies/acl/${name}`);
  }
  const made = await round.post("auth/token/create", { policies: names, no_default_policy: true, ttl: "1h" });
  if (!round.keepToken(`${prefix}pt`, made)) return;
  const token = `{${prefix}pt}`;
  const paths = Array.from({ length: 12 }, () => `cubbyhole/${pathOf(choices)}`);
  await round.post("sys/capabilities", { token, paths });
  for (let i = 0; i < 12; i++) await decision(round, token);
}

async function decision(round: Round, token: string): Promise<void> {
  const { choices } = round;
  const path = `cubbyhole/${pathOf(choices).replace(/\/+/g, "/")}`;
  const method = choices.pick(["GET", "POST", "DELETE", "LIST"]);
  const headers = choices.chance(0.15) ? { "X-Vault-Wrap-TTL": choices.pick(["50", "350s", "10m"]) } : {};
  const body = method === "POST" ? { body: bodyOf(choices) } : {};
  const isPage = method === "LIST" && choices.chance(0.3);
  const query = isPage ? `?limit=${choices.pick(["1", "5", "max", "0", "-1", "x"])}` : "";
  await round.ask({ method, path: path + query, token, headers, ...body });
}

function pathOf(choices: Choices): string {
  const segments = Array.from({ length: 1 + choices.below(3) }, () => choices.pick(WORDS));
  return segments.join("/") + (choices.chance(0.15) ? "/" : "");
}

function bodyOf(choices: Choices): Record<string, unknown> {
  const names = choices.some(["a", "b", "C"], 0.5);
  return Object.fromEntries((names.length > 0 ? names : ["a"]).map((name) => [name, choices.pick(VALUES)]));
}

function ruleOf(choices: Choices): string {
  const segments = Array.from({ length: 1 + choices.below(3) }, () => choices.pick(SEGMENTS));
  const end = choices.pick(["", "", "*", "/*", "/"]);
  const path = `cubbyhole/${segments.join("/")}${end}`.replace("+*", "+/*");
  const granted = choices.some(CAPABILITIES.filter((one) => one !== "deny" || choices.chance(0.2)));
  const isFormer = choices.chance(0.1);
  const grants = isFormer ? `policy = "${choices.pick(FORMER)}"` : `capabilities = ${JSON.stringify(granted)}`;
  return `path "${path}" {\n  ${[grants, ...settingsOf(choices)].join("\n  ")}\n}`;
}

function settingsOf(choices: Choices): string[] {
  const map = () => `{ ${choices.pick(PARAMETERS)} }`;
  return [
    ...(choices.chance(0.15) ? [`allowed_parameters = ${map()}`] : []),
    ...(choices.chance(0.15) ? [`denied_parameters = ${map()}`] : []),
    ...(choices.chance(0.1) ? ['required_parameters = ["a"]'] : []),
    ...(choices.chance(0.1) ? [`min_wrapping_ttl = ${choices.pick(["300", '"5m"'])}`] : []),
    ...(choices.chance(0.1) ? ["max_wrapping_ttl = 400"] : []),
    ...(choices.chance(0.1) ? ["pagination_limit = 2"] : []),
  ];
}
