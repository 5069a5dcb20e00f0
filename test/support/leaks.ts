import { randomBytes, toBase64, toBase64Url, toHex } from "../../src/crypto/bytes.ts";
import { importKeys, newKeyRing, sealKeyRing } from "../../src/crypto/key-ring.ts";
import { newLeaseIds, tokenLeaseTail } from "../../src/lease/ids.ts";
import { newTeamId, newTeamToken, newTokenId } from "../../src/team/ids.ts";
import { sealBatchToken } from "../../src/token/batch.ts";
import { newTokenIds } from "../../src/token/ids.ts";
import { PLAIN_RECORD, type TokenRecord } from "../../src/token/record.ts";

/** A text with the rule that has to find it. */
export type Leak = readonly [rule: string, secret: string];

/** What a scanner of sources meets: secrets of an installation, and texts that resemble them. */
export interface Leaks {
  readonly secrets: readonly Leak[];
  readonly lookAlikes: readonly string[];
}

const ROUTE = "Ab3dEf7h";
const HOUR_MS = 3_600_000;

/** Tokens of every kind and every deployment's secrets, made at `now` (ms), and what is none. */
export async function leaksOf(now: number): Promise<Leaks> {
  const keys = await importKeys(newKeyRing(0));
  const treeId = toHex(randomBytes(32));
  const { token, accessor } = await newTokenIds(keys, treeId, now);
  const wrapping = await newTokenIds(keys, toHex(randomBytes(32)), now);
  // The least that a record has, and so the shortest batch token.
  const least: TokenRecord = {
    ...PLAIN_RECORD,
    policies: [],
    displayName: "",
    path: "",
    createdAt: 0,
    creationTtl: 1,
  };
  const large: TokenRecord = { ...least, policies: ["default", "deploy"], meta: { team: "x".repeat(512) } };
  const batch = async (sealed: TokenRecord) => {
    const spec = { type: "batch", orphan: true, expiresAt: now + HOUR_MS, record: sealed } as const;
    const text = await sealBatchToken(keys, spec, null);
    if (!text.ok) throw new Error(text.error.code);
    return text.value;
  };
  const sealKey = toBase64(randomBytes(32));
  const ring = await sealKeyRing(newKeyRing(0), { version: 1, bytes: randomBytes(32) });
  const { text: leaseTail } = await newLeaseIds(keys, treeId, now);
  const teamToken = (await newTeamToken(keys, ROUTE)).text;
  const encoded = (value: unknown) => toBase64Url(new TextEncoder().encode(JSON.stringify(value)));
  return {
    secrets: [
      ["grove-service-token", token],
      ["grove-service-token", wrapping.token],
      ["grove-batch-token", await batch(least)],
      ["grove-batch-token", await batch(large)],
      ["grove-team-token", teamToken],
    ],
    lookAlikes: [
      accessor,
      `auth/token/create/${await tokenLeaseTail(keys, accessor)}`,
      `secrets/db/${leaseTail}`,
      await newTeamId(keys),
      await newTokenId(keys, ROUTE),
      ring,
      // Without its name a seal key is a number and 32 bytes.
      `1:${sealKey}`,
      `sha256-${sealKey}`,
      `sha512-${toBase64(randomBytes(64))}`,
      toHex(randomBytes(32)),
      toHex(randomBytes(64)),
      toBase64Url(randomBytes(63)),
      toBase64Url(randomBytes(300)),
      `s.${toHex(randomBytes(12))}`,
      `hvs.${toBase64Url(randomBytes(63))}`,
      `hvb.${toBase64Url(randomBytes(150))}`,
      `s.${toBase64Url(randomBytes(64))}`,
      `${token}Q`,
      token.slice(0, -1),
      `s.${"_".repeat(84)}`,
      `b.${toBase64Url(randomBytes(40))}`,
      `b.getElementsByClassName("${toHex(randomBytes(8))}")`,
      // A header of a JWT that ends in -s, with a payload as long as a token.
      `eyJhbGciOi-s.${token.slice(2)}.${toBase64Url(randomBytes(32))}`,
      `eyJhbGciOi-s.${token.slice(2)}.-${toBase64Url(randomBytes(32))}`,
      `${encoded({ alg: "RS256" })}.${encoded({ sub: accessor })}.${toBase64Url(randomBytes(256))}`,
      `styles.${token.slice(2)}.css`,
      `${teamToken.slice(0, -1)}`,
      `${teamToken}0`,
      teamToken.replace("atlasv1", "atlasv2"),
      "GROVE_SEAL_KEY=1:$(openssl rand -base64 32)",
      `GROVE_INIT_TOKEN="$(cat /run/secrets/grove-init-token-of-the-deployment)"`,
      "GROVE_SEAL_KEY is not the key that wrapped the key ring (version 1)",
      `GROVE_COMMIT=${toHex(randomBytes(20))}`,
    ],
  };
}

/** A deployment's secrets as files name them. */
export function namedSecrets(): readonly Leak[] {
  const sealKey = `1:${toBase64(randomBytes(32))}`;
  const initToken = toHex(randomBytes(24));
  const rule = "grove-deployment-secret";
  return [
    [rule, `GROVE_SEAL_KEY=${sealKey}`],
    [rule, `"GROVE_SEAL_KEY": "${sealKey}"`],
    [rule, `export GROVE_SEAL_KEY_PREVIOUS='${sealKey}'`],
    [rule, `GROVE_INIT_TOKEN = "${initToken}"`],
    [rule, `- name: GROVE_INIT_TOKEN\n  value: ${initToken}`],
    [rule, `GROVE_CLUSTER_KEY: ${toHex(randomBytes(32))}`],
    // The data of a Kubernetes secret.
    [rule, `GROVE_SEAL_KEY: ${toBase64(new TextEncoder().encode(sealKey))}`],
  ];
}

/** How a token stands in a file. */
export const PLACES: readonly ((secret: string) => string)[] = [
  (secret) => secret,
  (secret) => `VAULT_TOKEN=${secret}\n`,
  (secret) => `{"client_token":"${secret}","renewable":true}`,
  (secret) => `curl -H 'X-Vault-Token: ${secret}' $VAULT_ADDR`,
  (secret) => `Ask with ${secret}. It ends today.`,
  (secret) => `"VAULT_TOKEN=x\\n${secret}\\n"`,
  (secret) => `https://grove.example/?token%3D${secret}&x=1`,
  (secret) => `<code>${secret}</code>`,
  (secret) => `(${secret})`,
  (secret) => `| ${secret} |`,
];
