import type { Finding } from "./round.ts";

/** What a finding must look like; anything where a pattern is absent. */
interface Explanation extends Partial<Record<"request" | "where" | "reference" | "tested", RegExp>> {
  /** As docs/compatibility.md says it. */
  readonly why: string;
}

/** The intended differences. */
const EXPLANATIONS: readonly Explanation[] = [
  {
    where: /^status$/,
    reference: /^500/,
    tested: /^4/,
    why: "a client's mistake that the reference answers with 500",
  },
  {
    request: /^GET sys\//,
    where: /(?:running_plugin_version|deprecation_status)$/,
    tested: /^(?:""|nothing)$/,
    why: "there are no plugins",
  },
  {
    request: /^GET sys\/auth/,
    where: /(?:^|\.)type$/,
    reference: /^"(?:approle|userpass)"$/,
    why: "no difference: another method stands in for the cloud's, which the reference lacks",
  },
  {
    request: /^POST sys\/wrapping\/rewrap/,
    where: /wrapped_accessor$/,
    reference: /^nothing$/,
    why: "rewrapping keeps the accessor of the token inside",
  },
  {
    request: /^POST sys\/wrapping\/rewrap by/,
    where: /^status$/,
    reference: /^400/,
    tested: /^403/,
    why: "rewrapping by the wrapping token itself",
  },
  {
    request: /^LIST /,
    where: /^status$/,
    reference: /^200$/,
    tested: /^40[04]/,
    why: "pages of every list, and lists without names",
  },
  {
    request: /identity\/(?:lookup\/)?group/,
    where: /(?:member_entity_ids|member_group_ids|parent_group_ids|policies|modify_index)$/,
    tested: /^(?:\[\]|nothing)$/,
    why: "empty lists of groups, and modify_index",
  },
  {
    request: /^POST auth\/token\/renew of a role's/,
    where: /warnings|lease_duration/,
    why: "explicit_max_ttl and period of the creation are kept at renewals of a role's token",
  },
  {
    request: /^POST auth\/token\/lookup of a role's/,
    where: /(?:explicit_max_ttl|period)$/,
    tested: /^\d+$/,
    why: "the lesser of a role's and a call's explicit_max_ttl and period is on the token",
  },
  {
    request: /^POST auth\/token\/(?:create\/:role$|(?:lookup|renew) of a role's)/,
    where: /policies$/,
    reference: /"default"/,
    tested: /^(?!.*"default")/,
    why: "token_no_default_policy of a role holds without lists of policies",
  },
  {
    request: /^GET auth\//,
    where: /(?:allowed_entity_aliases|bound_ec2_instance_id)$/,
    reference: /^null$/,
    tested: /^\[\]$/,
    why: "lists of a role that are not set",
  },
  {
    where: /^status$/,
    reference: /^20[04]$/,
    tested: /^400 .*expected (?:a list|an int)/,
    why: "an object where a list belongs, a bool where a whole number belongs",
  },
  {
    request: /^POST sys\/auth/,
    where: /^status$/,
    reference: /^204$/,
    tested: /^400 "unable to parse (?:default|max) TTL"$/,
    why: "a negative lifetime of a mount",
  },
  {
    reference: /^\[.*"".*\]$/,
    tested: /^\[/,
    why: "an empty item in a list of names",
  },
  {
    request: /^POST sys\/leases\/revoke-force/,
    where: /^status$/,
    reference: /^204$/,
    tested: /^202$/,
    why: "sync is looked at by revoke-force too",
  },
  {
    request: /identity\//,
    where: /metadata$/,
    reference: /^\{\}$/,
    tested: /^null$/,
    why: "empty metadata",
  },
];

/** Why a difference is intended; null when nothing explains it. */
export function explanationOf({ request, where, reference, tested }: Finding): string | null {
  const fits = (pattern: RegExp | undefined, text: string) => pattern === undefined || pattern.test(text);
  const found = EXPLANATIONS.find((one) => {
    const isAbout = fits(one.request, request) && fits(one.where, where);
    return isAbout && fits(one.reference, reference) && fits(one.tested, tested);
  });
  return found?.why ?? null;
}
