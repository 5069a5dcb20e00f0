/** The scope that the packages are published under. */
const SCOPE = "@grove-tokens";

/** Where the sources are. Provenance is refused for a package that names another repository than the one it was made in. */
export const REPOSITORY = "https://github.com/grove-tokens/grove";

/** The server with its commands. */
export const SERVER_PACKAGE = `${SCOPE}/grove`;

/** What a Worker needs that asks Grove about tokens. */
export const CLIENT_PACKAGE = `${SCOPE}/client`;
