import { err, ok, type Result } from "../../base/result.ts";
import { isPartition, type Partition } from "./regions.ts";

export type PrincipalArn = {
  readonly arn: string;
  readonly partition: Partition;
  /** 12 digits. */
  readonly accountId: string;
  readonly type: keyof typeof SERVICES;
  /** The name without a path. For an assumed role, the name of the role. */
  readonly friendlyName: string;
  /** Between the type and the name, without slashes at its ends; "" for none. */
  readonly path: string;
  /** The client that assumes a role chooses it. Null for other types. */
  readonly sessionName: string | null;
  /** Without path and session: `arn:<partition>:iam::<account>:<user|role|instance-profile>/<name>`. */
  readonly canonicalArn: string;
};

/** The cloud's limit for an ARN. */
const MAX_LENGTH = 2048;

const SERVICES = { user: "iam", role: "iam", "assumed-role": "sts", "instance-profile": "iam" } as const;

const NAME = /^[\w+=,.@-]{1,128}$/;
const PATH_SEGMENT = /^[!-.0-~]{1,512}$/;
export const ACCOUNT_ID = /^\d{12}$/;

/**
 * Reads the ARN of a principal or an instance profile. Others, such as roots and federated users, are refused: no role
 * can be bound to them. Messages are the reference's and do not repeat the ARN.
 */
export function parsePrincipalArn(arn: string): Result<PrincipalArn, string> {
  if (arn.length > MAX_LENGTH) return err("ARN is too long");
  const parts = arn.split(":");
  const [prefix = "", partition = "", service = "", region = "", accountId = "", resource = ""] = parts;
  if (parts.length !== 6) return err(`unrecognized arn: contains ${parts.length} colon-separated parts, expected 6`);
  if (prefix !== "arn") return err('unrecognized arn: does not begin with "arn:"');
  if (!isPartition(partition)) return err("unrecognized arn: unknown partition");
  if (service !== "iam" && service !== "sts") return err("unrecognized service: not one of iam or sts");
  if (region !== "" || !ACCOUNT_ID.test(accountId)) return err("unrecognized arn: names no account");

  const [type = "", ...rest] = resource.split("/");
  if (rest.length === 0) return err("unrecognized arn: contains fewer than 2 slash-separated parts");
  if (!isType(type) || SERVICES[type] !== service) return err("unrecognized principal type");
  const named = type === "assumed-role" ? readSession(rest) : readPath(rest);
  if (named === null) return err(`unrecognized arn: malformed name of ${type}`);
  const canonicalType = type === "assumed-role" ? "role" : type;
  const canonicalArn = `arn:${partition}:iam::${accountId}:${canonicalType}/${named.friendlyName}`;
  return ok({ arn, partition, accountId, type, ...named, canonicalArn });
}

/** True when `arn` equals the bound ARN, or begins with it if that ends in `*`. Any other `*` is part of a path. */
export function matchesBoundArn(bound: string, arn: string): boolean {
  if (!bound.endsWith("*")) return bound === arn;
  return wildcardProblem(bound) === null && arn.startsWith(bound.slice(0, -1));
}

/**
 * Why a bound ARN that ends in `*` is refused, or null. It must have the whole account: `arn:aws:iam::1*` would admit
 * accounts of others.
 */
export function wildcardProblem(bound: string): string | null {
  if (!bound.endsWith("*")) return null;
  const [prefix = "", partition = "", service = "", region = "", accountId = "", ...resource] = bound.split(":");
  const complete = prefix === "arn" && isPartition(partition) && service === "iam" && region === "";
  if (complete && ACCOUNT_ID.test(accountId) && resource.length === 1) return null;
  return "a wildcard is only allowed in the resource of an iam ARN, after its account";
}

function readSession(rest: readonly string[]) {
  const [friendlyName = "", sessionName = "", ...more] = rest;
  if (more.length > 0 || !NAME.test(friendlyName) || !NAME.test(sessionName)) return null;
  return { friendlyName, path: "", sessionName };
}

function readPath(rest: readonly string[]) {
  const friendlyName = rest.at(-1) ?? "";
  const segments = rest.slice(0, -1);
  if (!NAME.test(friendlyName) || !segments.every((segment) => PATH_SEGMENT.test(segment))) return null;
  return { friendlyName, path: segments.join("/"), sessionName: null };
}

function isType(text: string): text is PrincipalArn["type"] {
  return Object.hasOwn(SERVICES, text);
}
