import { HELP, parseBackupArguments } from "./backup/arguments.ts";
import { makeBackup } from "./backup/run.ts";

async function main(): Promise<number> {
  const command = parseBackupArguments(process.argv.slice(2));
  if (!command.ok) {
    console.error(`backup: ${command.error}`);
    console.error("backup: --help lists the options");
    return 2;
  }
  if (command.value.kind === "help") {
    process.stdout.write(HELP);
    return 0;
  }
  const made = await makeBackup(command.value);
  if (!made.ok) {
    console.error(`backup: ${made.error}`);
    return 1;
  }
  const { directory, at, databases, pausedMs, deleted } = made.value;
  if (command.value.json) console.log(JSON.stringify(made.value));
  else {
    console.log(`${directory}: ${databases} databases, opened and whole, as of ${at}`);
    console.log(pausedMs === 0 ? "the server was not running" : `the server held still for ${pausedMs} ms`);
    for (const name of deleted) console.log(`deleted ${name}`);
  }
  return 0;
}

// The copy is for this user only.
process.umask(0o077);
process.exitCode = await main();
