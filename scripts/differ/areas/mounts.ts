import type { Round } from "../round.ts";
import { type Kind, someFields } from "../values.ts";

const CONFIG: Readonly<Record<string, Kind>> = {
  default_lease_ttl: "duration",
  max_lease_ttl: "duration",
  passthrough_request_headers: "list",
  allowed_response_headers: "list",
  audit_non_hmac_request_keys: "list",
  audit_non_hmac_response_keys: "list",
};
const TYPES = ["default-service", "default-batch", "service", "batch", "", "other"] as const;

/** Auth mounts: enabled, read at both places, tuned, moved and disabled. */
export async function mounts(round: Round): Promise<void> {
  const { choices, prefix } = round;
  const place = `${prefix}m${choices.pick(["", "/below"])}`;
  const config = someFields(choices, CONFIG, 0.3);
  if (choices.chance(0.3)) config.token_type = choices.pick(TYPES);
  if (choices.chance(0.3)) config.listing_visibility = choices.pick(["unauth", "hidden", "", "x"]);
  const body = { type: choices.pick(["{method}", "{method}", "{method}", "none", ""]), description: "a mount", config };
  await round.ask("POST sys/auth", { method: "POST", path: `sys/auth/${place}`, body });
  await round.ask("POST sys/auth", { method: "POST", path: `sys/auth/${place}`, body: { type: "{method}" } });
  for (let i = 0; i < 3; i++) {
    await readEverywhere(round, place);
    const change = someFields(choices, { ...CONFIG, description: "text" }, 0.3);
    if (choices.chance(0.3)) change.token_type = choices.pick(TYPES);
    const path = choices.pick([`sys/auth/${place}/tune`, `sys/mounts/auth/${place}/tune`]);
    await round.ask("POST sys/auth tune", { method: "POST", path, body: change });
  }
  await readEverywhere(round, place);
  for (const path of [
    "sys/mounts/cubbyhole",
    "sys/mounts/cubbyhole/tune",
    "sys/mounts/sys/tune",
    "sys/mounts/identity/tune",
  ]) {
    await round.ask(`GET ${path}`, { method: "GET", path });
  }
  const to = choices.pick([`auth/${place}-moved`, `auth/${place}/x`, "auth/token", "x", "", `auth/${place}`]);
  await round.ask("POST sys/remount refused", { method: "POST", path: "sys/remount", body: { from: "auth/none", to } });
  await round.ask("DELETE sys/auth", { method: "DELETE", path: `sys/auth/${place}` });
  await round.ask("DELETE sys/auth", { method: "DELETE", path: `sys/auth/${place}` });
  await round.ask("GET sys/auth", { method: "GET", path: `sys/auth/${place}` });
}

async function readEverywhere(round: Round, place: string): Promise<void> {
  for (const path of [`sys/auth/${place}`, `sys/mounts/auth/${place}`])
    await round.ask("GET sys/auth", { method: "GET", path });
  for (const path of [`sys/auth/${place}/tune`, `sys/mounts/auth/${place}/tune`]) {
    await round.ask("GET sys/auth tune", { method: "GET", path });
  }
}
