import { HELP as BACKUP_HELP } from "./backup/arguments.ts";
import { HELP as GATEWAY_HELP } from "./gateway/arguments.ts";
import { NEW_HELP } from "./installation/new-help.ts";
import type { Program } from "./local/command-line.ts";
import { DEPLOY_HELP } from "./local/deploy-help.ts";
import { HELP as SERVE_HELP } from "./serve/arguments.ts";
import { HELP as UPGRADE_HELP } from "./upgrade/arguments.ts";

/** The helps of the programs of the package's binary. */
export const PROGRAM_HELPS: Readonly<Record<Program, string>> = {
  new: NEW_HELP,
  serve: SERVE_HELP,
  deploy: DEPLOY_HELP,
  backup: BACKUP_HELP,
  upgrade: UPGRADE_HELP,
  gateway: GATEWAY_HELP,
};
