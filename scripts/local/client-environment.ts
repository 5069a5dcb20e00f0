/** The names of the variables with the address of the server and the token. */
export interface ClientVariables {
  readonly address: "VAULT_ADDR" | "BAO_ADDR";
  readonly token: "VAULT_TOKEN" | "BAO_TOKEN";
}

/**
 * Returns the variables to read: those of Vault's CLI, or those of OpenBao's where neither of Vault's is set. A pair is never
 * mixed, as the token of one server would be sent to another.
 */
export function clientVariables(environment: Readonly<Record<string, string | undefined>>): ClientVariables {
  const { VAULT_ADDR, VAULT_TOKEN, BAO_ADDR, BAO_TOKEN } = environment;
  const isBao = !VAULT_ADDR && !VAULT_TOKEN && (BAO_ADDR || BAO_TOKEN);
  return isBao ? { address: "BAO_ADDR", token: "BAO_TOKEN" } : { address: "VAULT_ADDR", token: "VAULT_TOKEN" };
}
