import { Copy, Notice } from "../ui/index.ts";

/** The command that initializes the server at this address. */
const initCommand = (address: string): string =>
  `curl -X PUT -H @<(printf 'X-Vault-Token: %s' "$GROVE_INIT_TOKEN") ${address}/v1/sys/init`;

/** Shown instead of the sign-in while the server is not initialized: what to do first. */
export function NotInitialized({ onLook }: { readonly onLook: () => void }) {
  return (
    <div class="stack">
      <Notice tone="warn" title="This server is not initialized">
        <p>
          Sign-in is not possible yet. If the server was in use before, do not initialize it: restore a backup.
          Otherwise the first call creates the root token, and shows it once:
        </p>
      </Notice>
      <Copy value={initCommand(window.location.origin)} label="Command" />
      <p class="small muted">
        GROVE_INIT_TOKEN is the init token: a secret of the deployment (<code>.dev.vars</code>, the environment of the
        server, or <code>wrangler secret put</code>). Keep the root token that the answer has, and sign in with it.
      </p>
      <button type="button" class="button primary full" onClick={onLook}>
        It is initialized: sign in
      </button>
    </div>
  );
}
