import type { Socket } from "node:net";

/**
 * Writes a head and what follows it in one system call.
 *
 * @param head latin1
 */
export function writeMessage(socket: Socket, head: string, body: Buffer): void {
  socket.cork();
  socket.write(head, "latin1");
  if (body.length > 0) socket.write(body);
  socket.uncork();
}

/** Resolves when the system has taken all that was written, or the socket is closed. */
export function flushed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.writableLength === 0 || socket.destroyed) resolve();
    else socket.write("", () => resolve());
  });
}
