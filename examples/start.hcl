# What a new installation begins with, in the form of OpenBao's self-initialization (docs/self-hosting.md). Change the
# repository below to yours.
#
#   serve --init FILE     a server of your own, at its first start
#   grove init FILE       any other server, once, with its GROVE_INIT_TOKEN as VAULT_TOKEN
#   grove apply FILE      later: shows what differs from the file, and writes it
#
# No root token is left, unless this names a new file for it:
# root_token_file = "root-token"

initialize "policies" {
  request "administrators" {
    operation = "update"
    path      = "sys/policies/acl/administrators"
    data = {
      policy = <<-EOT
        path "*" {
          capabilities = ["create", "read", "update", "patch", "delete", "list", "scan", "sudo"]
        }
      EOT
    }
  }

  request "services" {
    operation = "update"
    path      = "sys/policies/acl/services"
    data = {
      policy = <<-EOT
        # What tokens of services may do, besides what the policy default allows.
        path "auth/token/create" {
          capabilities = ["update"]
        }
      EOT
    }
  }
}

# Administrators log in with a token of GitHub Actions: an approved job of one environment of one repository. For another
# issuer, change oidc_discovery_url and the bound claims.
initialize "administrators" {
  request "mount" {
    operation = "update"
    path      = "sys/auth/github"
    data = {
      type        = "jwt"
      description = "Jobs of GitHub Actions"
      config      = { listing_visibility = "unauth" }
    }
  }

  request "issuer" {
    operation = "update"
    path      = "auth/github/config"
    data = {
      oidc_discovery_url = "https://token.actions.githubusercontent.com"
      default_role       = "administrators"
    }
  }

  request "role" {
    operation = "update"
    path      = "auth/github/role/administrators"
    data = {
      role_type       = "jwt"
      user_claim      = "sub"
      bound_audiences = ["grove"]
      bound_claims = {
        repository  = "example/infrastructure"
        environment = "grove"
      }
      token_policies = ["administrators"]
      token_ttl      = "30m"
    }
  }
}

# For services without an OIDC issuer. An administrator makes the secret-ids: POST auth/approle/role/services/secret-id.
initialize "services" {
  request "mount" {
    operation = "update"
    path      = "sys/auth/approle"
    data      = { type = "approle" }
  }

  request "role" {
    operation = "update"
    path      = "auth/approle/role/services"
    data = {
      token_policies     = ["services"]
      token_ttl          = "1h"
      secret_id_ttl      = "24h"
      secret_id_num_uses = 1
      # A value may come from the environment of the command, or from a file beside this one:
      # token_bound_cidrs = { eval_type = "string" eval_source = "env" env_var = "SERVICE_NETWORKS" }
    }
  }
}

initialize "limits" {
  request "logins" {
    operation = "update"
    path      = "sys/quotas/rate-limit/github-logins"
    data = {
      path = "auth/github/login"
      rate = 20
    }
  }
}
