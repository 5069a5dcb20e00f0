import { type BackupCommand, HELP, parseBackupArguments } from "./backup/arguments.ts";
import { makeBackup } from "./backup/run.ts";
import { runCommand } from "./local/command-line.ts";

const say = (line: string): void => console.error(`backup: ${line}`);

async function backUp(command: BackupCommand): Promise<number> {
  const made = await makeBackup(command);
  if (!made.ok) {
    say(made.error);
    return 1;
  }
  const { directory, at, databases, pausedMs, deleted } = made.value;
  if (command.json) console.log(JSON.stringify(made.value));
  else {
    console.log(`${directory}: ${databases} databases, opened and whole, as of ${at}`);
    console.log(pausedMs === 0 ? "the server was not running" : `the server was paused for ${pausedMs} ms`);
    for (const name of deleted) console.log(`deleted ${name}`);
  }
  return 0;
}

// The copy is for this user only.
process.umask(0o077);
process.exitCode = await runCommand(parseBackupArguments(process.argv.slice(2)), HELP, say, backUp);
