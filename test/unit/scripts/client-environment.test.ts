import { expect, it } from "vitest";
import { clientVariables } from "../../../scripts/local/client-environment.ts";

const VAULT = { address: "VAULT_ADDR", token: "VAULT_TOKEN" };
const BAO = { address: "BAO_ADDR", token: "BAO_TOKEN" };

it.each([
  [{}, VAULT],
  [{ VAULT_ADDR: "a", BAO_ADDR: "b" }, VAULT],
  [{ VAULT_ADDR: "a", BAO_TOKEN: "b" }, VAULT],
  [{ VAULT_TOKEN: "a", BAO_ADDR: "b", BAO_TOKEN: "c" }, VAULT],
  [{ BAO_ADDR: "b" }, BAO],
  [{ BAO_TOKEN: "c" }, BAO],
  [{ VAULT_ADDR: "", VAULT_TOKEN: "", BAO_ADDR: "b", BAO_TOKEN: "c" }, BAO],
])("with %j the address and the token are in %j", (environment, variables) => {
  expect(clientVariables(environment)).toEqual(variables);
});
