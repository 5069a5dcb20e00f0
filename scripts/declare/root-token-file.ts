import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { err, ok, type Result } from "../../src/base/result.ts";
import { codeOf } from "../local/error-code.ts";

/** An empty file that is kept for a root token. */
export interface RootTokenFile {
  /** Writes the token, and waits until the disk has it. The error is for the operator. */
  write(token: string): Result<void, string>;
  /** Closes the file, and removes it if this made it and nothing was written. */
  close(): void;
}

/**
 * Opens the file for a root token before the token exists: a token that can't be written would be lost. The file must
 * be new, or empty as an interrupted start leaves it. It must belong to this user and be closed to all others: another
 * user may have created it in a shared directory, and could read the token. The error is for the operator.
 */
export function openRootTokenFile(path: string): Result<RootTokenFile, string> {
  try {
    const isNew = !existsSync(path);
    const file = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
    const { size, mode, uid } = fstatSync(file);
    if (size > 0 || (mode & 0o077) !== 0 || uid !== (process.getuid?.() ?? uid)) {
      closeSync(file);
      return err(`root_token_file ${path} is there already, and not empty or not for this user alone`);
    }
    return ok({
      write(token) {
        try {
          ftruncateSync(file);
          writeFileSync(file, `${token}\n`);
          fsyncSync(file);
          return ok(undefined);
        } catch (error) {
          return err(
            `the root token could not be written to ${path} (${codeOf(error)}): sys/generate-root makes another`,
          );
        }
      },
      close() {
        const isEmpty = fstatSync(file).size === 0;
        closeSync(file);
        if (isNew && isEmpty) rmSync(path, { force: true });
      },
    });
  } catch (error) {
    return err(`root_token_file ${path} can't be made (${codeOf(error)})`);
  }
}
