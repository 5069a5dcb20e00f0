import { exportJWK, exportSPKI, generateKeyPair, type JWK, type JWTPayload, SignJWT } from "jose";

/** Whose tokens tests log in with. */
export const ISSUER = "https://issuer.example.com";

/** An issuer with one key. */
export interface Issuer {
  readonly jwk: JWK;
  readonly pem: string;
  /** A token for `grove` that is good for ten minutes from now on, unless the claims say something else. */
  sign(claims: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>;
}

/** An issuer whose key is made now. */
export async function newIssuer(algorithm: string, kid?: string): Promise<Issuer> {
  const { publicKey, privateKey } = await generateKeyPair(algorithm, { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), ...(kid !== undefined && { kid }) };
  return {
    jwk,
    pem: await exportSPKI(publicKey),
    sign(claims, header = {}) {
      const iat = Math.floor(Date.now() / 1000);
      return new SignJWT({ iss: ISSUER, sub: "job", aud: "grove", iat, exp: iat + 600, ...claims } as JWTPayload)
        .setProtectedHeader({ alg: algorithm, ...(kid !== undefined && { kid }), ...header })
        .sign(privateKey);
    },
  };
}
