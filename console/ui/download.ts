/** Lets the user save a text as a file. */
export function download(name: string, type: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}

export const downloadJson = (name: string, value: unknown): void =>
  download(name, "application/json", `${JSON.stringify(value, null, 2)}\n`);
