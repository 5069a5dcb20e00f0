/** The example of what an installation begins with, in the project and in its package. */
export const START_FILE = "examples/start.hcl";
