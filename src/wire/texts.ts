/** What every tidy endpoint answers when a run has begun: word for word what clients of the interface know. */
export const TIDY_STARTED =
  "Tidy operation successfully started. Any information from the operation will be printed to Vault's server logs.";
