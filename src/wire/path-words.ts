/**
 * The fixed segments in the paths of the interface. A path without an endpoint is logged with these words only: other segments
 * can be tokens, and a custom id has no recognizable form.
 */
export const PATH_WORDS: ReadonlySet<string> = new Set(
  `.well-known access access-self accessors account acl actions attempt audit audit-hash auth authentication-token authentication-tokens
  backup batch-delete begin capabilities capabilities-accessor capabilities-policy capabilities-self certificate certificates client
  config count counters create create-orphan cubbyhole deliveries detailed details ended ends entities entity entity-alias explain file find finish
  generate-root generate-root-token group group-alias ha-status health id identity identity-accesslist
  identity-whitelist init internal introspect jobs key key-status keyring keys leader leases login lookup
  lookup-accessor lookup-self map metrics mounts name not-before notification-configurations oidc openapi
  openid-configuration organizations part ping plugins policies policy quotas rate-limit ready receipt refused register remount renew
  renew-accessor renew-self restore resultant-acl revocations revoke revoke-accessor revoke-force revoke-orphan revoke-prefix
  revoke-self revoke-tokens rewrap role roles roletag-blacklist roletag-denylist rotate rotate-root runs seal seal-status
  signing-key specs status stop stored sts summary sys tag team-tokens teams terraform.json tidy tidy-status token
  token-ttl-policies tokens tree tune ui unseal unwrap update usage verify verify-ended wrap wrapping`.split(/\s+/),
);
