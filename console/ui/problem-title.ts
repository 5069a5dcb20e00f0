const TITLES: Readonly<Record<number, string>> = {
  0: "No answer",
  400: "Not accepted",
  403: "Refused by the policies of your token",
  404: "Not found",
  429: "Too many requests",
  503: "Grove can't answer now",
};

/** The title for a failed call. Any 4xx is a mistake in the request, not a fault of the server. */
export const titleOf = (status: number): string =>
  TITLES[status] ?? (status >= 400 && status < 500 ? "Not accepted" : "Something went wrong");
