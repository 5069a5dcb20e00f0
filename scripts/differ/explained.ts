import type { Finding } from "./round.ts";

interface Explanation {
  /** What the finding is about, as in a report. */
  readonly request: RegExp;
  readonly where: RegExp;
  readonly reference: RegExp;
  readonly tested: RegExp;
  /** As docs/compatibility.md says it. */
  readonly why: string;
}

const ANY = /^/;

/** The intended differences. */
const EXPLANATIONS: readonly Explanation[] = [
  {
    request: ANY,
    where: /^status$/,
    reference: /^500/,
    tested: /^4/,
    why: "a client's mistake that the reference answers with 500",
  },
  {
    request: /^GET sys\//,
    where: /(?:running_plugin_version|deprecation_status)$/,
    reference: ANY,
    tested: /^(?:""|nothing)$/,
    why: "there are no plugins",
  },
  {
    request: /^GET sys\/auth/,
    where: /(?:^|\.)type$/,
    reference: /^"(?:approle|userpass)"$/,
    tested: ANY,
    why: "no difference: another method stands in for the cloud's, which the reference lacks",
  },
  {
    request: /^POST sys\/wrapping\/rewrap/,
    where: /wrapped_accessor$/,
    reference: /^nothing$/,
    tested: ANY,
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
    reference: ANY,
    tested: /^(?:\[\]|nothing)$/,
    why: "empty lists of groups, and modify_index",
  },
  {
    request: /^POST auth\/token\/renew of a role's/,
    where: /warnings|lease_duration/,
    reference: ANY,
    tested: ANY,
    why: "explicit_max_ttl and period of the creation are kept at renewals of a role's token",
  },
  {
    request: ANY,
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
    request: ANY,
    where: ANY,
    reference: /^\[.*"".*\]$/,
    tested: /^\[/,
    why: "an empty item in a list of names",
  },
  {
    request: /^POST sys\/leases\/revoke-force$/,
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
  const found = EXPLANATIONS.find(
    (one) =>
      one.request.test(request) && one.where.test(where) && one.reference.test(reference) && one.tested.test(tested),
  );
  return found?.why ?? null;
}
