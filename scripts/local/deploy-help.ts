export const DEPLOY_HELP = `Usage: npm run deploy -- [options]

Deploys Grove to Cloudflare, with the settings of wrangler.toml.

  --env NAME           an environment of wrangler.toml
  --secrets-file FILE  secrets to upload; those of a folder of "grove new" are taken from its secrets.env
  --dry-run            builds, and shows what would be deployed
  --help               this text

Every other option is one of "wrangler deploy" (npx wrangler deploy --help). docs/deploy.md has the first deployment.

Example:
  npm run deploy -- --dry-run
`;
