import * as z from "zod";

/**
 * What a token keeps of its login for the check at renewals. Clients never see it; metadata would not do, since a mount
 * can be configured to show none.
 */
const INSTANCE_DATA = z.object({
  kind: z.literal("vm"),
  /** In lower case. */
  role: z.string(),
  instanceId: z.string(),
  region: z.string(),
  accountId: z.string(),
  /** Seconds; 0: the role tag set no limit, or there was none. */
  tagMaxTtl: z.coerce.number(),
});

const PRINCIPAL_DATA = z.object({
  kind: z.literal("iam"),
  role: z.string(),
  /** ARN without path and session. */
  canonicalArn: z.string(),
  uniqueId: z.string(),
  accountId: z.string(),
  /** "" when no instance was inferred; so is the next. */
  inferredInstanceId: z.string(),
  inferredRegion: z.string(),
});

const TOKEN_DATA = z.discriminatedUnion("kind", [INSTANCE_DATA, PRINCIPAL_DATA]);

export type InstanceData = z.infer<typeof INSTANCE_DATA>;
export type PrincipalData = z.infer<typeof PRINCIPAL_DATA>;

/** The data as a token keeps them. */
export function writeTokenData(data: InstanceData | PrincipalData): Record<string, string> {
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, String(value)]));
}

/** The data of a token that this method issued. Anything else in it is a bug. */
export function readTokenData(internal: Readonly<Record<string, string>>): InstanceData | PrincipalData {
  return TOKEN_DATA.parse(internal);
}
