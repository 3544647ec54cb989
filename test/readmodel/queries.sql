-- acceptedByHour: of a tenant
select
  floor(
    extract(
      epoch
      from
        "delivery"."received_at" - $1::timestamptz
    )::float8 / 3600
  )::integer as "hour",
  cast(count(*) as integer) as "count"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."tenant_id" = $2
  and "delivery"."outcome" = $3
  and "delivery"."received_at" >= $4
  and "delivery"."received_at" < $5
group by
  "hour";

-- acceptedByHour: of some agents
select
  floor(
    extract(
      epoch
      from
        "delivery"."received_at" - $1::timestamptz
    )::float8 / 3600
  )::integer as "hour",
  cast(count(*) as integer) as "count"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."tenant_id" = $2
  and "delivery"."agent_id" = any ($3)
  and "delivery"."outcome" = $4
  and "delivery"."received_at" >= $5
  and "delivery"."received_at" < $6
group by
  "hour";

-- activeJobsOf: of an agent
select
  "job"."id",
  "job"."agent_id",
  "job"."name",
  "job"."next_fire_at",
  "job"."schedule_revision"
from
  "cron_jobs"."jobs" as "job"
where
  "job"."tenant_id" = $1
  and "job"."status" = $2
  and "job"."deleted" is not true
  and "job"."agent_id" = any ($3)
order by
  "job"."created_at" desc,
  "job"."id" desc
limit
  200;

-- activeJobsOf: that are due in a period
select
  "job"."id",
  "job"."agent_id",
  "job"."name",
  "job"."next_fire_at",
  "job"."schedule_revision"
from
  "cron_jobs"."jobs" as "job"
where
  "job"."tenant_id" = $1
  and "job"."status" = $2
  and "job"."deleted" is not true
  and "job"."agent_id" = any ($3)
  and "job"."next_fire_at" < $4
order by
  "job"."created_at" desc,
  "job"."id" desc
limit
  200;

-- activeProvidersOf: call
select distinct
  "integration"."provider"
from
  "integrations"."integrations" as "integration"
where
  "integration"."tenant_id" = $1
  and "integration"."agent_id" = $2
  and "integration"."is_paused" = $3
  and "integration"."disconnected" is not true
order by
  "integration"."provider";

-- actorNamesOf: call
select
  wanted.at::integer as at,
  found.value,
  found.revision
from
  unnest($1::text[]) with ordinality as wanted ("id", at)
  cross join lateral (
    select
      stored."doc" as value,
      stored.revision
    from
      "audit"."audit_logs" stored
    where
      stored."id" = wanted."id"
    limit
      1
  ) found;

-- adminOnlyAgents: call
select
  "agent"."id"
from
  "agents"."agents" as "agent"
where
  "agent"."tenant_id" = $1
  and "agent"."is_admin_only" = $2;

-- agentById: call
select
  wanted.at::integer as at,
  found.value,
  found.revision
from
  unnest($1::text[], $2::text[]) with ordinality as wanted ("tenant_id", "id", at)
  cross join lateral (
    select
      stored."doc" as value,
      stored.revision
    from
      "agents"."agents" stored
    where
      stored."tenant_id" = wanted."tenant_id"
      and stored."id" = wanted."id"
      and stored."deleted" is not true
    limit
      1
  ) found;

-- agentCount: call
select
  wanted.at::integer as at,
  found.value,
  found.revision
from
  unnest($1::text[]) with ordinality as wanted ("tenant_id", at)
  cross join lateral (
    select
      stored."agents" as value,
      stored.revision
    from
      "agents"."agent_counts" stored
    where
      stored."tenant_id" = wanted."tenant_id"
    limit
      1
  ) found;

-- agentCounts: all
select
  cast(
    count(*) filter (
      where
        "agent"."deleted" is not true
    ) as integer
  ) as "all",
  cast(
    count(*) filter (
      where
        (
          "agent"."deleted" is not true
          and "agent"."is_active" = $1
        )
    ) as integer
  ) as "active",
  cast(
    count(*) filter (
      where
        (
          "agent"."deleted" is not true
          and "agent"."is_active" = $2
        )
    ) as integer
  ) as "paused",
  cast(
    count(*) filter (
      where
        "agent"."deleted" = $3
    ) as integer
  ) as "deleted"
from
  "agents"."agents" as "agent"
where
  "agent"."tenant_id" = $4;

-- agentCounts: visible ones
select
  cast(
    count(*) filter (
      where
        "agent"."deleted" is not true
    ) as integer
  ) as "all",
  cast(
    count(*) filter (
      where
        (
          "agent"."deleted" is not true
          and "agent"."is_active" = $1
        )
    ) as integer
  ) as "active",
  cast(
    count(*) filter (
      where
        (
          "agent"."deleted" is not true
          and "agent"."is_active" = $2
        )
    ) as integer
  ) as "paused",
  cast(
    count(*) filter (
      where
        "agent"."deleted" = $3
    ) as integer
  ) as "deleted"
from
  "agents"."agents" as "agent"
where
  "agent"."tenant_id" = $4
  and "agent"."is_admin_only" = $5
  and exists (
    select
    from
      "agents"."agent_access" as "access"
    where
      "access"."tenant_id" = "agent"."tenant_id"
      and "access"."agent_id" = "agent"."id"
      and "access"."user_id" = $6
      and "access"."role" = any ($7)
      and "access"."given" > $8
  )
  and "agent"."id" = any ($9);

-- agentCountsOf: call
select
  "access"."user_id",
  cast(count(distinct "access"."agent_id") as integer) as "count"
from
  "agents"."agent_access" as "access"
  inner join unnest($1::text[], $2::text[]) as member (user_id, since) on "member"."user_id" = "access"."user_id"
  and "access"."given" > "member"."since"
  inner join "agents"."agents" as "agent" on "agent"."tenant_id" = "access"."tenant_id"
  and "agent"."id" = "access"."agent_id"
where
  "access"."tenant_id" = $3
  and "agent"."deleted" is not true
group by
  "access"."user_id";

-- agentIdsAsOf: first page
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "agent"."doc" as "doc",
      "agent"."created_at" as "value",
      "agent"."id" as "id"
    from
      "agents"."agents" as "agent"
    where
      "agent"."tenant_id" = $2
      and "agent"."born" <= $3
      and "agent"."died" > $4
    order by
      "agent"."created_at" desc,
      "agent"."id" desc
    limit
      51
  ) as "page";

-- agentMailboxPage: first page
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "mailbox"."agent_doc" as "doc",
      "mailbox"."created_at" as "value",
      "mailbox"."id" as "id"
    from
      "mailboxes"."mailboxes" as "mailbox"
    where
      "mailbox"."tenant_id" = $2
      and "mailbox"."agent_id" = $3
    order by
      "mailbox"."created_at" desc,
      "mailbox"."id" desc
    limit
      51
  ) as "page";

-- agentMailboxPage: of a kind
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "mailbox"."agent_doc" as "doc",
      "mailbox"."created_at" as "value",
      "mailbox"."id" as "id"
    from
      "mailboxes"."mailboxes" as "mailbox"
    where
      "mailbox"."tenant_id" = $2
      and "mailbox"."agent_id" = $3
      and "mailbox"."kind" = $4
    order by
      "mailbox"."created_at" desc,
      "mailbox"."id" desc
    limit
      51
  ) as "page";

-- agentNames: call
select
  "agent"."id",
  "agent"."name",
  "agent"."deleted"
from
  "agents"."agents" as "agent"
where
  "agent"."tenant_id" = $1;

-- agentPage: first page
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "agent"."list_doc" as "doc",
      "agent"."created_at" as "value",
      "agent"."id" as "id"
    from
      "agents"."agents" as "agent"
    where
      "agent"."tenant_id" = $2
      and "agent"."deleted" is not true
    order by
      "agent"."created_at" desc,
      "agent"."id" desc
    limit
      51
  ) as "page";

-- agentPage: next page
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "agent"."list_doc" as "doc",
      "agent"."created_at" as "value",
      "agent"."id" as "id"
    from
      "agents"."agents" as "agent"
    where
      "agent"."tenant_id" = $2
      and ("agent"."created_at", "agent"."id") < ($3, $4)
      and "agent"."deleted" is not true
    order by
      "agent"."created_at" desc,
      "agent"."id" desc
    limit
      51
  ) as "page";

-- agentPage: ascending
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "agent"."list_doc" as "doc",
      "agent"."created_at" as "value",
      "agent"."id" as "id"
    from
      "agents"."agents" as "agent"
    where
      "agent"."tenant_id" = $2
      and "agent"."deleted" is not true
    order by
      "agent"."created_at" asc,
      "agent"."id" asc
    limit
      51
  ) as "page";

-- agentPage: ascending, next page
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      *
    from
      (
        select
          *
        from
          (
            select
              "agent"."list_doc" as "doc",
              "agent"."created_at" as "value",
              "agent"."id" as "id"
            from
              "agents"."agents" as "agent"
            where
              "agent"."tenant_id" = $2
              and ("agent"."created_at", "agent"."id") > ($3, $4)
              and "agent"."deleted" is not true
            order by
              "agent"."created_at" asc,
              "agent"."id" asc
            limit
              51
          ) as "first"
        union all
        select
          *
        from
          (
            select
              "agent"."list_doc" as "doc",
              "agent"."created_at" as "value",
              "agent"."id" as "id"
            from
              "agents"."agents" as "agent"
            where
              "agent"."tenant_id" = $5
              and "agent"."created_at" is null
              and "agent"."deleted" is not true
            order by
              "agent"."created_at" asc,
              "agent"."id" asc
            limit
              51
          ) as "second"
      ) as "row"
    order by
      "row"."value" asc,
      "row"."id" asc
    limit
      51
  ) as "page";

-- agentPage: by kind
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      *
    from
      (
        select
          *
        from
          (
            select
              "agent"."list_doc" as "doc",
              "agent"."kind" as "value",
              "agent"."id" as "id"
            from
              "agents"."agents" as "agent"
            where
              "agent"."tenant_id" = $2
              and "agent"."kind" is null
              and "agent"."id" < $3
              and "agent"."deleted" is not true
            order by
              "agent"."kind" desc,
              "agent"."id" desc
            limit
              51
          ) as "first"
        union all
        select
          *
        from
          (
            select
              "agent"."list_doc" as "doc",
              "agent"."kind" as "value",
              "agent"."id" as "id"
            from
              "agents"."agents" as "agent"
            where
              "agent"."tenant_id" = $4
              and "agent"."kind" is not null
              and "agent"."deleted" is not true
            order by
              "agent"."kind" desc,
              "agent"."id" desc
            limit
              51
          ) as "second"
      ) as "row"
    order by
      "row"."value" desc,
      "row"."id" desc
    limit
      51
  ) as "page";

-- agentsGiven: of some identities
select
  *
from
  (
    select
      "given"."identity_id",
      "given"."agent_id",
      "given"."given_at",
      "agent"."name",
      row_number() over (
        partition by
          given.identity_id
        order by
          given.given
      ) as "place",
      count(*) over (
        partition by
          given.identity_id
      ) as "count"
    from
      "agents"."given_credentials" as "given"
      inner join "agents"."agents" as "agent" on "agent"."tenant_id" = "given"."tenant_id"
      and "agent"."id" = "given"."agent_id"
    where
      "given"."tenant_id" = $1
      and "given"."identity_id" = any ($2)
      and (given.identity_id, given.identity_revision) in (
        select
          id,
          revision
        from
          unnest($3::text[], $4::text[]) as identity (id, revision)
      )
      and "agent"."deleted" is not true
      and "given"."given" > "agent"."credentials_taken"
      and "given"."agent_id" = any ($5)
  ) as "found"
where
  "found"."place" <= 20
order by
  "found"."identity_id",
  "found"."place";

-- agentsGivenTo: call
select distinct
  "access"."agent_id"
from
  "agents"."agent_access" as "access"
where
  "access"."tenant_id" = $1
  and "access"."user_id" = $2;

-- agentsOpenTo: call
select distinct
  "access"."agent_id"
from
  "agents"."agent_access" as "access"
where
  "access"."tenant_id" = $1
  and "access"."user_id" = $2
  and "access"."role" = any ($3)
  and "access"."given" > $4;

-- agentsOwnedBy: call
select distinct
  "agent"."id"
from
  "agents"."agent_access" as "access"
  inner join "agents"."agents" as "agent" on "agent"."tenant_id" = "access"."tenant_id"
  and "agent"."id" = "access"."agent_id"
where
  "access"."tenant_id" = $1
  and "access"."user_id" = $2
  and "access"."role" = $3
  and "agent"."deleted" is not true
order by
  "agent"."id";

-- allAgents: call
select
  "agent"."tenant_id",
  "agent"."id"
from
  "agents"."agents" as "agent"
where
  ("agent"."tenant_id", "agent"."id") > ($1, $2)
  and "agent"."deleted" is not true
order by
  "agent"."tenant_id",
  "agent"."id"
limit
  200;

-- allModels: first page
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "model"."doc" as "doc",
      "model"."created_at" as "value",
      "model"."id" as "id"
    from
      "models"."models" as "model"
    order by
      "model"."created_at" desc,
      "model"."id" desc
    limit
      51
  ) as "page";

-- allowedAccountPage: first page
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "account"."doc" as "doc",
      "account"."created_at" as "value",
      "account"."id" as "id"
    from
      "allowed_accounts"."allowed_accounts" as "account"
    order by
      "account"."created_at" desc,
      "account"."id" desc
    limit
      51
  ) as "page";

-- approvalPage: all of the tenant
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "approval"."doc" as "doc",
      "approval"."created_at" as "value",
      "approval"."id" as "id"
    from
      "sessions"."approvals" as "approval"
    where
      "approval"."tenant_id" = $2
    order by
      "approval"."created_at" desc,
      "approval"."id" desc
    limit
      51
  ) as "page";

-- approvalPage: of some agents, by status
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "approval"."doc" as "doc",
      "approval"."created_at" as "value",
      "approval"."id" as "id"
    from
      "sessions"."approvals" as "approval"
    where
      "approval"."tenant_id" = $2
      and "approval"."agent_id" = any ($3)
      and "approval"."status" = $4
    order by
      "approval"."created_at" desc,
      "approval"."id" desc
    limit
      51
  ) as "page";

-- approvalsDueAt: call
select
  "approval"."tenant_id",
  "approval"."session_id"
from
  "sessions"."approvals" as "approval"
where
  "approval"."due_at" <= $1
order by
  "approval"."due_at"
limit
  200;

-- attachmentPage: first page
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "attachment"."doc" as "doc",
      "attachment"."created_at" as "value",
      "attachment"."id" as "id"
    from
      "mail"."attachments" as "attachment"
    where
      "attachment"."tenant_id" = $2
      and "attachment"."agent_id" = $3
    order by
      "attachment"."created_at" desc,
      "attachment"."id" desc
    limit
      51
  ) as "page";

-- attachmentPage: of a message
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "attachment"."doc" as "doc",
      "attachment"."created_at" as "value",
      "attachment"."id" as "id"
    from
      "mail"."attachments" as "attachment"
    where
      "attachment"."tenant_id" = $2
      and "attachment"."agent_id" = $3
      and "attachment"."message_id" = $4
    order by
      "attachment"."created_at" desc,
      "attachment"."id" desc
    limit
      51
  ) as "page";

-- attachmentsOfMessages: call
select
  "attachment"."doc"
from
  "mail"."attachments" as "attachment"
where
  "attachment"."tenant_id" = $1
  and (
    "attachment"."message_id" = any ($2)
    or "attachment"."id" = any ($3)
  )
order by
  "attachment"."created_at",
  "attachment"."id";

-- attachmentsWithIds: call
select
  "attachment"."id",
  "attachment"."agent_id",
  "attachment"."message_id",
  "attachment"."filename",
  "attachment"."content_type",
  "attachment"."size_bytes",
  "attachment"."sha256"
from
  "mail"."attachments" as "attachment"
where
  "attachment"."tenant_id" = $1
  and "attachment"."id" = any ($2);

-- auditCount: call
select
  wanted.at::integer as at,
  found.value,
  found.revision
from
  unnest($1::text[]) with ordinality as wanted ("tenant_id", at)
  cross join lateral (
    select
      stored."lines" as value,
      stored.revision
    from
      "audit"."audit_counts" stored
    where
      stored."tenant_id" = wanted."tenant_id"
    limit
      1
  ) found;

-- auditFacets: call
select
  "newest"."action",
  "newest"."actor_id",
  max("newest"."place") as "place",
  cast(count(*) as integer) as "count"
from
  (
    select
      "entry"."action",
      "entry"."actor_id",
      "entry"."place"
    from
      "audit"."audit_logs" as "entry"
    where
      "entry"."tenant_id" = $1
    order by
      "entry"."created_at" desc,
      "entry"."place" desc
    limit
      10000
  ) as "newest"
group by
  "newest"."action",
  "newest"."actor_id";

-- auditFacets: call
select
  "entry"."actor_id",
  "entry"."doc"
from
  "audit"."audit_logs" as "entry"
where
  "entry"."tenant_id" = $1
  and "entry"."place" = any ($2);

-- auditPage: first page
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "entry"."doc" as "doc",
      "entry"."created_at" as "value",
      "entry"."place" as "id"
    from
      "audit"."audit_logs" as "entry"
    where
      "entry"."tenant_id" = $2
    order by
      "entry"."created_at" desc,
      "entry"."place" desc
    limit
      51
  ) as "page";

-- auditPage: about a delivery
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "entry"."doc" as "doc",
      "entry"."created_at" as "value",
      "entry"."place" as "id"
    from
      "audit"."audit_logs" as "entry"
    where
      "entry"."tenant_id" = $2
      and (
        "entry"."resource_id" = $3
        or entry.id = any (
          array(
            select
              event_id
            from
              audit.event_subjects
            where
              tenant_id = $4
              and subject_id = $5
          )
        )
        or "entry"."actor_id" = $6
        or "entry"."id" = any ($7)
      )
    order by
      "entry"."created_at" desc,
      "entry"."place" desc
    limit
      51
  ) as "page";

-- benchmarkBySlug: call
select
  "benchmark"."doc",
  "benchmark"."revision"
from
  "benchmarks"."benchmarks" as "benchmark"
where
  "benchmark"."slug" = $1;

-- benchmarkPage: first page
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "benchmark"."doc" as "doc",
      "benchmark"."created_at" as "value",
      "benchmark"."id" as "id"
    from
      "benchmarks"."benchmarks" as "benchmark"
    order by
      "benchmark"."created_at" desc,
      "benchmark"."id" desc
    limit
      51
  ) as "page";

-- benchmarkPage: with a part of the name
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "benchmark"."doc" as "doc",
      "benchmark"."created_at" as "value",
      "benchmark"."id" as "id"
    from
      "benchmarks"."benchmarks" as "benchmark"
    where
      "benchmark"."search" ilike $2
    order by
      "benchmark"."created_at" desc,
      "benchmark"."id" desc
    limit
      51
  ) as "page";

-- benchmarkRunPage: first page
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "run"."doc" as "doc",
      "run"."created_at" as "value",
      "run"."id" as "id"
    from
      "benchmark_runs"."runs" as "run"
    where
      "run"."tenant_id" = $2
    order by
      "run"."created_at" desc,
      "run"."id" desc
    limit
      51
  ) as "page";

-- blackoutAgentsOf: call
select distinct
  "blackout"."agent_id"
from
  "blackouts"."blackouts" as "blackout"
where
  "blackout"."tenant_id" = $1
  and "blackout"."agent_id" is not null
limit
  500;

-- blackoutById: call
select
  wanted.at::integer as at,
  found.value,
  found.revision
from
  unnest($1::text[], $2::text[]) with ordinality as wanted ("tenant_id", "id", at)
  cross join lateral (
    select
      stored."doc" as value,
      stored.revision
    from
      "blackouts"."blackouts" stored
    where
      stored."tenant_id" = wanted."tenant_id"
      and stored."id" = wanted."id"
    limit
      1
  ) found;

-- blackoutCount: call
select
  wanted.at::integer as at,
  found.value,
  found.revision
from
  unnest($1::text[]) with ordinality as wanted ("tenant_id", at)
  cross join lateral (
    select
      stored."blackouts" as value,
      stored.revision
    from
      "blackouts"."blackout_counts" stored
    where
      stored."tenant_id" = wanted."tenant_id"
    limit
      1
  ) found;

-- blackoutPage: first page
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "blackout"."doc" as "doc",
      "blackout"."created_at" as "value",
      "blackout"."id" as "id"
    from
      "blackouts"."blackouts" as "blackout"
    where
      "blackout"."tenant_id" = $2
    order by
      "blackout"."created_at" desc,
      "blackout"."id" desc
    limit
      51
  ) as "page";

-- blackoutPage: of some agents
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "blackout"."doc" as "doc",
      "blackout"."created_at" as "value",
      "blackout"."id" as "id"
    from
      "blackouts"."blackouts" as "blackout"
    where
      "blackout"."tenant_id" = $2
      and (
        "blackout"."agent_id" is null
        or "blackout"."agent_id" = any ($3)
      )
    order by
      "blackout"."created_at" desc,
      "blackout"."id" desc
    limit
      51
  ) as "page";

-- blackoutsOf: call
select
  "blackout"."doc"
from
  "blackouts"."blackouts" as "blackout"
where
  "blackout"."tenant_id" = $1
order by
  "blackout"."created_at",
  "blackout"."id"
limit
  500;

-- blockedSince: of a tenant
select
  "blocked"."agent_id",
  "blocked"."integration_id",
  "blocked"."reason",
  "blocked"."count",
  "blocked"."earlier",
  "blocked"."since",
  "blocked"."example_id"
from
  (
    select
      "delivery"."agent_id",
      "delivery"."integration_id",
      "delivery"."reason",
      cast(
        count(*) filter (
          where
            "delivery"."received_at" >= $1
        ) as integer
      ) as "count",
      cast(
        count(*) filter (
          where
            "delivery"."received_at" < $2
        ) as integer
      ) as "earlier",
      min("delivery"."received_at") filter (
        where
          "delivery"."received_at" >= $3
      ) as "since",
      substr(
        max(to_char("delivery"."received_at" at time zone 'UTC', 'YYYYMMDDHH24MISSUS') || "delivery"."id"),
        21
      ) as "example_id"
    from
      "deliveries"."deliveries" as "delivery"
    where
      "delivery"."tenant_id" = $4
      and "delivery"."outcome" = $5
      and "delivery"."received_at" >= $6
    group by
      "delivery"."agent_id",
      "delivery"."integration_id",
      "delivery"."reason"
  ) as "blocked"
where
  "blocked"."count" >= $7
order by
  "blocked"."count" desc,
  "blocked"."example_id"
limit
  20;

-- blockedSince: of some agents
select
  "blocked"."agent_id",
  "blocked"."integration_id",
  "blocked"."reason",
  "blocked"."count",
  "blocked"."earlier",
  "blocked"."since",
  "blocked"."example_id"
from
  (
    select
      "delivery"."agent_id",
      "delivery"."integration_id",
      "delivery"."reason",
      cast(
        count(*) filter (
          where
            "delivery"."received_at" >= $1
        ) as integer
      ) as "count",
      cast(
        count(*) filter (
          where
            "delivery"."received_at" < $2
        ) as integer
      ) as "earlier",
      min("delivery"."received_at") filter (
        where
          "delivery"."received_at" >= $3
      ) as "since",
      substr(
        max(to_char("delivery"."received_at" at time zone 'UTC', 'YYYYMMDDHH24MISSUS') || "delivery"."id"),
        21
      ) as "example_id"
    from
      "deliveries"."deliveries" as "delivery"
    where
      "delivery"."tenant_id" = $4
      and "delivery"."agent_id" = any ($5)
      and "delivery"."outcome" = $6
      and "delivery"."received_at" >= $7
    group by
      "delivery"."agent_id",
      "delivery"."integration_id",
      "delivery"."reason"
  ) as "blocked"
where
  "blocked"."count" >= $8
order by
  "blocked"."count" desc,
  "blocked"."example_id"
limit
  20;

-- bundlesWithDigest: call
select
  "listing"."slug",
  "bundle"."version"
from
  "listings"."bundles" as "bundle"
  inner join "listings"."listings" as "listing" on "listing"."id" = "bundle"."listing_id"
where
  "listing"."publisher_id" = $1
  and "bundle"."sha256" = $2
limit
  1;

-- callsDueAt: of all tenants
select
  "run"."tenant_id",
  "run"."id",
  "run"."job_id",
  "job"."target"
from
  "cron_jobs"."runs" as "run"
  inner join "cron_jobs"."jobs" as "job" on "job"."tenant_id" = "run"."tenant_id"
  and "job"."id" = "run"."job_id"
where
  "run"."target_kind" = $1
  and "run"."next_attempt_at" <= $2
order by
  "run"."next_attempt_at"
limit
  5000;

-- callsDueAt: but some
select
  "run"."tenant_id",
  "run"."id",
  "run"."job_id",
  "job"."target"
from
  "cron_jobs"."runs" as "run"
  inner join "cron_jobs"."jobs" as "job" on "job"."tenant_id" = "run"."tenant_id"
  and "job"."id" = "run"."job_id"
where
  "run"."target_kind" = $1
  and "run"."next_attempt_at" <= $2
  and not "run"."tenant_id" = any ($3)
order by
  "run"."next_attempt_at"
limit
  5000;

-- changesAfter: call
select
  "entry"."category",
  "entry"."place"
from
  "audit"."audit_logs" as "entry"
where
  "entry"."tenant_id" = $1
  and "entry"."place" > $2
order by
  "entry"."place" desc
limit
  500;

-- checkedCount: of a tenant
select
  count(*) as "count"
from
  (
    select
      "delivery"."id"
    from
      "deliveries"."deliveries" as "delivery"
    where
      "delivery"."tenant_id" = $1
      and "delivery"."received_at" >= $2
      and "delivery"."outcome" <> $3
    limit
      20001
  ) as "some";

-- checkedCount: of an integration
select
  count(*) as "count"
from
  (
    select
      "delivery"."id"
    from
      "deliveries"."deliveries" as "delivery"
    where
      "delivery"."tenant_id" = $1
      and "delivery"."integration_id" = $2
      and "delivery"."received_at" >= $3
      and "delivery"."outcome" <> $4
    limit
      20001
  ) as "some";

-- connectedIntegrations: call
select
  "integration"."id"
from
  "integrations"."integrations" as "integration"
where
  "integration"."id" > $1
  and "integration"."disconnected" is not true
order by
  "integration"."id"
limit
  200;

-- costliestAgents: call
select
  "usage"."agent_id",
  cast(sum("usage"."cost_micros") as double precision) as "cost_micros"
from
  "costs"."days" as "usage"
where
  "usage"."tenant_id" = $1
  and "usage"."day" >= $2
  and "usage"."day" < $3
group by
  "usage"."agent_id"
having
  sum("usage"."cost_micros") > $4
order by
  "cost_micros" desc,
  "usage"."agent_id"
limit
  $5;

-- costsByHour: call
select
  floor(
    extract(
      epoch
      from
        "message"."at" - $1::timestamptz
    )::float8 / 3600
  )::integer as "hour",
  cast(sum("message"."cost_micros") as double precision) as "count"
from
  "costs"."messages" as "message"
where
  "message"."tenant_id" = $2
  and "message"."at" >= $3
  and "message"."at" < $4
group by
  "hour";

-- countGivenUp: of a tenant
select
  cast(count(*) as integer) as "count"
from
  (
    select
      "newest"."agent_id"
    from
      (
        select
          "delivery"."agent_id"
        from
          "deliveries"."deliveries" as "delivery"
        where
          "delivery"."tenant_id" = $1
          and "delivery"."outcome" = $2
          and "delivery"."failed_at" >= $3
        order by
          "delivery"."failed_at" desc
        limit
          10000
      ) as "newest"
    limit
      1000
  ) as "counted";

-- countGivenUp: of some agents
select
  cast(count(*) as integer) as "count"
from
  (
    select
      "newest"."agent_id"
    from
      (
        select
          "delivery"."agent_id"
        from
          "deliveries"."deliveries" as "delivery"
        where
          "delivery"."tenant_id" = $1
          and "delivery"."outcome" = $2
          and "delivery"."failed_at" >= $3
        order by
          "delivery"."failed_at" desc
        limit
          10000
      ) as "newest"
    where
      "newest"."agent_id" = any ($4)
    limit
      1000
  ) as "counted";

-- countSessions: by agent_id
select
  cast(count(*) as integer) as "count"
from
  "sessions"."sessions" as "session"
where
  "session"."tenant_id" = $1
  and "session"."agent_id" = $2;

-- countSessions: by from and to
select
  cast(count(*) as integer) as "count"
from
  "sessions"."sessions" as "session"
where
  "session"."tenant_id" = $1
  and "session"."created_at" >= $2
  and "session"."created_at" < $3;

-- countUpToMax: call
select
  cast(count(*) as integer) as "count"
from
  (
    select
      "delivery"."id"
    from
      "deliveries"."deliveries" as "delivery"
    where
      "delivery"."tenant_id" = $1
      and "delivery"."outcome" = $2
      and "delivery"."received_at" >= $3
    limit
      100000
  ) as "counted";

-- countUpToMax: call
select
  cast(count(*) as integer) as "count"
from
  (
    select
      "delivery"."id"
    from
      "deliveries"."deliveries" as "delivery"
    where
      "delivery"."tenant_id" = $1
      and "delivery"."outcome" = $2
      and "delivery"."received_at" >= $3
    limit
      100000
  ) as "counted";

-- credentialRequestPage: first page
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "request"."doc" as "doc",
      "request"."created_at" as "value",
      "request"."id" as "id"
    from
      "credential_requests"."requests" as "request"
    where
      "request"."tenant_id" = $2
      and "request"."agent_id" = $3
    order by
      "request"."created_at" desc,
      "request"."id" desc
    limit
      51
  ) as "page";

-- cronJobById: call
select
  wanted.at::integer as at,
  found.value,
  found.revision
from
  unnest($1::text[], $2::text[]) with ordinality as wanted ("tenant_id", "id", at)
  cross join lateral (
    select
      stored."doc" as value,
      stored.revision
    from
      "cron_jobs"."jobs" stored
    where
      stored."tenant_id" = wanted."tenant_id"
      and stored."id" = wanted."id"
      and stored."deleted" is not true
    limit
      1
  ) found;

-- cronJobCount: call
select
  wanted.at::integer as at,
  found.value,
  found.revision
from
  unnest($1::text[]) with ordinality as wanted ("tenant_id", at)
  cross join lateral (
    select
      stored."cron_jobs" as value,
      stored.revision
    from
      "cron_jobs"."cron_job_counts" stored
    where
      stored."tenant_id" = wanted."tenant_id"
    limit
      1
  ) found;

-- cronJobPage: first page
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "job"."doc" as "doc",
      "job"."created_at" as "value",
      "job"."id" as "id"
    from
      "cron_jobs"."jobs" as "job"
    where
      "job"."tenant_id" = $2
      and "job"."agent_id" = $3
      and "job"."deleted" is not true
    order by
      "job"."created_at" desc,
      "job"."id" desc
    limit
      51
  ) as "page";

-- cronJobRow: call
select
  "job"."doc",
  "job"."schedule_revision"
from
  "cron_jobs"."jobs" as "job"
where
  "job"."tenant_id" = $1
  and "job"."id" = $2;

-- cronRunPage: first page
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "run"."doc" as "doc",
      "run"."created_at" as "value",
      "run"."id" as "id"
    from
      "cron_jobs"."runs" as "run"
    where
      "run"."tenant_id" = $2
      and "run"."job_id" = $3
    order by
      "run"."created_at" desc,
      "run"."id" desc
    limit
      51
  ) as "page";

-- dailyCosts: call
select
  "usage"."agent_id",
  "usage"."day",
  cast(sum("usage"."cost_micros") as double precision) as "cost_micros"
from
  "costs"."days" as "usage"
where
  "usage"."tenant_id" = $1
  and "usage"."day" >= $2
  and "usage"."day" < $3
group by
  "usage"."agent_id",
  "usage"."day";

-- dailyCostsOf: call
select
  "usage"."agent_id",
  "usage"."day",
  cast(sum("usage"."cost_micros") as double precision) as "cost_micros"
from
  "costs"."days" as "usage"
where
  "usage"."tenant_id" = $1
  and "usage"."day" >= $2
  and "usage"."day" < $3
  and "usage"."agent_id" = any ($4)
group by
  "usage"."agent_id",
  "usage"."day";

-- dailyTotals: call
select
  "usage"."day",
  cast(sum("usage"."cost_micros") as double precision) as "cost_micros"
from
  "costs"."days" as "usage"
where
  "usage"."tenant_id" = $1
  and "usage"."day" >= $2
  and "usage"."day" < $3
group by
  "usage"."day";

-- decidedAheadOf: call
select
  "run"."id"
from
  "cron_jobs"."runs" as "run"
  inner join unnest($1::text[], $2::timestamptz[]) as job (id, next_fire_at) on "job"."id" = "run"."job_id"
where
  "run"."tenant_id" = $3
  and "run"."job_id" = any ($4)
  and "run"."due_at" >= $5
  and "run"."due_at" < $6
  and "run"."due_at" >= "job"."next_fire_at"
order by
  "run"."due_at"
limit
  1000;

-- decidedOf: call
select
  "run"."id"
from
  "cron_jobs"."runs" as "run"
where
  "run"."tenant_id" = $1
  and "run"."job_id" = $2
  and "run"."due_at" >= $3
order by
  "run"."due_at"
limit
  1000;

-- deliveryById: call
select
  wanted.at::integer as at,
  found.value,
  found.revision
from
  unnest($1::text[], $2::text[]) with ordinality as wanted ("tenant_id", "id", at)
  cross join lateral (
    select
      stored."doc" as value,
      stored.revision
    from
      "deliveries"."deliveries" stored
    where
      stored."tenant_id" = wanted."tenant_id"
      and stored."id" = wanted."id"
    limit
      1
  ) found;

-- deliveryByProviderId: call
select
  "delivery"."id"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."tenant_id" = $1
  and "delivery"."provider_delivery_id" = $2
order by
  "delivery"."received_at" desc,
  "delivery"."id" desc
limit
  1;

-- deliveryMarks: call
select
  "delivery"."id",
  (
    select
      "publication"."published_at"
    from
      "deliveries"."publications" as "publication"
    where
      "publication"."place" >= "delivery"."place"
    order by
      "publication"."place"
    limit
      1
  ) as "published_at",
  "delivery"."place" <= (
    select
      "last"."place"
    from
      "deliveries"."publications" as "last"
    order by
      "last"."recorded" desc
    limit
      1
  ) as "is_published",
  exists (
    select
      "earlier"."id"
    from
      "deliveries"."deliveries" as "earlier"
    where
      "earlier"."tenant_id" = "delivery"."tenant_id"
      and "earlier"."integration_id" = "delivery"."integration_id"
      and "earlier"."sha256" = "delivery"."sha256"
      and "earlier"."received_at" >= "delivery"."received_at" - make_interval(0, 0, 0, 0, 72)
      and ("earlier"."received_at", "earlier"."id") < ("delivery"."received_at", "delivery"."id")
  ) as "is_replay"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."tenant_id" = $1
  and "delivery"."id" = any ($2);

-- deliveryOf: published
select
  "publication"."place"
from
  "deliveries"."publications" as "publication"
order by
  "publication"."recorded" desc
limit
  1;

-- deliveryOf: published
select
  "publication"."published_at"
from
  "deliveries"."publications" as "publication"
where
  "publication"."place" >= $1
order by
  "publication"."place"
limit
  1;

-- deliveryOf: as of a position
select
  "publication"."place"
from
  "deliveries"."publications" as "publication"
where
  "publication"."recorded" <= $1
order by
  "publication"."recorded" desc
limit
  1;

-- deliveryOf: as of a position
select
  "publication"."published_at"
from
  "deliveries"."publications" as "publication"
where
  "publication"."place" >= $1
order by
  "publication"."place"
limit
  1;

-- deliveryPage: of an integration, first page
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "delivery"."list_doc" as "doc",
      "delivery"."received_at" as "value",
      "delivery"."id" as "id"
    from
      "deliveries"."deliveries" as "delivery"
    where
      "delivery"."tenant_id" = $2
      and "delivery"."integration_id" = $3
    order by
      "delivery"."received_at" desc,
      "delivery"."id" desc
    limit
      51
  ) as "page";

-- deliveryPage: in the state queued
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "delivery"."list_doc" as "doc",
      "delivery"."received_at" as "value",
      "delivery"."id" as "id"
    from
      "deliveries"."deliveries" as "delivery"
    where
      "delivery"."tenant_id" = $2
      and (
        delivery.unsettled is not null
        or delivery.held_at is not null
      )
      and case
        when delivery.held_at is not null then 'held'
        when delivery.unsettled > coalesce(
          (
            (
              select
                "publication"."place"
              from
                "deliveries"."publications" as "publication"
              order by
                "publication"."recorded" desc
              limit
                1
            )
          ),
          ''
        ) then 'waiting'
        when delivery.message_agent_id = any ($3::text[])
        and not (
          coalesce(delivery.retry_at <= $4::timestamptz, true)
          and exists (
            select
            from
              unnest($5::text[], $6::text[]) as working (agent_id, before)
            where
              working.agent_id = delivery.message_agent_id
              and delivery.unsettled < working.before
          )
        ) then 'held'
        when delivery.retry_at is not null then 'retrying'
        when (
          coalesce(delivery.retry_at <= $7::timestamptz, true)
          and exists (
            select
            from
              unnest($8::text[], $9::text[]) as working (agent_id, before)
            where
              working.agent_id = delivery.message_agent_id
              and delivery.unsettled < working.before
          )
        ) then 'running'
        else 'queued'
      end = $10
    order by
      "delivery"."received_at" desc,
      "delivery"."id" desc
    limit
      51
  ) as "page";

-- deliveryProblems: of a tenant
select
  "keyed"."outcome",
  "keyed"."why",
  "keyed"."rule",
  "keyed"."problem",
  "keyed"."where",
  case
    when min(keyed."reason") = max(keyed."reason") then min(keyed."reason")
  end as "reason",
  case
    when min(keyed."agent_id") = max(keyed."agent_id") then min(keyed."agent_id")
  end as "agent_id",
  case
    when min(keyed."integration_id") = max(keyed."integration_id") then min(keyed."integration_id")
  end as "integration_id",
  count(*) as "count",
  min("keyed"."received_at") as "first_at",
  max("keyed"."received_at") as "last_at",
  substr(max(to_char("keyed"."received_at" at time zone 'UTC', 'YYYYMMDDHH24MISSUS') || "keyed"."id"), 21) as "example_id"
from
  (
    select
      "delivery"."id",
      "delivery"."outcome",
      "delivery"."reason",
      "delivery"."agent_id",
      "delivery"."integration_id",
      "delivery"."received_at",
      case
        when delivery.outcome = 'blocked' then delivery.rule
      end as "rule",
      case
        when delivery.outcome = 'dead' then delivery.problem
      end as "problem",
      case
        when delivery.outcome = 'dead' then delivery.agent_id
        else delivery.integration_id
      end as "where",
      case
        when delivery.outcome = 'dead'
        and delivery.problem is not null then null
        else delivery.reason
      end as "why"
    from
      "deliveries"."deliveries" as "delivery"
    where
      "delivery"."tenant_id" = $1
      and "delivery"."outcome" in ($2, $3, $4)
  ) as "keyed"
group by
  "keyed"."outcome",
  "keyed"."why",
  "keyed"."rule",
  "keyed"."problem",
  "keyed"."where"
order by
  "last_at" desc,
  "example_id" desc
limit
  200;

-- deliveryProblems: of a period
select
  "keyed"."outcome",
  "keyed"."why",
  "keyed"."rule",
  "keyed"."problem",
  "keyed"."where",
  case
    when min(keyed."reason") = max(keyed."reason") then min(keyed."reason")
  end as "reason",
  case
    when min(keyed."agent_id") = max(keyed."agent_id") then min(keyed."agent_id")
  end as "agent_id",
  case
    when min(keyed."integration_id") = max(keyed."integration_id") then min(keyed."integration_id")
  end as "integration_id",
  count(*) as "count",
  min("keyed"."received_at") as "first_at",
  max("keyed"."received_at") as "last_at",
  substr(max(to_char("keyed"."received_at" at time zone 'UTC', 'YYYYMMDDHH24MISSUS') || "keyed"."id"), 21) as "example_id"
from
  (
    select
      "delivery"."id",
      "delivery"."outcome",
      "delivery"."reason",
      "delivery"."agent_id",
      "delivery"."integration_id",
      "delivery"."received_at",
      case
        when delivery.outcome = 'blocked' then delivery.rule
      end as "rule",
      case
        when delivery.outcome = 'dead' then delivery.problem
      end as "problem",
      case
        when delivery.outcome = 'dead' then delivery.agent_id
        else delivery.integration_id
      end as "where",
      case
        when delivery.outcome = 'dead'
        and delivery.problem is not null then null
        else delivery.reason
      end as "why"
    from
      "deliveries"."deliveries" as "delivery"
    where
      "delivery"."tenant_id" = $1
      and "delivery"."received_at" >= $2
      and "delivery"."received_at" < $3
      and "delivery"."outcome" in ($4, $5, $6)
  ) as "keyed"
group by
  "keyed"."outcome",
  "keyed"."why",
  "keyed"."rule",
  "keyed"."problem",
  "keyed"."where"
order by
  "last_at" desc,
  "example_id" desc
limit
  200;

-- deliverySummary: of a tenant
select
  "delivery"."outcome",
  count(*) as "count"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."tenant_id" = $1
group by
  "delivery"."outcome";

-- deliverySummary: by state
select
  "delivery"."outcome",
  count(*) as "count"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."tenant_id" = $1
  and "delivery"."received_at" >= $2
  and "delivery"."received_at" < $3
group by
  "delivery"."outcome";

-- deliverySummary: by state
select
  "open"."state",
  "open"."is_by_rule",
  count(*) as "count"
from
  (
    select
      case
        when delivery.held_at is not null then 'held'
        when delivery.unsettled > coalesce(
          (
            (
              select
                "publication"."place"
              from
                "deliveries"."publications" as "publication"
              order by
                "publication"."recorded" desc
              limit
                1
            )
          ),
          ''
        ) then 'waiting'
        when delivery.message_agent_id = any ($1::text[])
        and not (
          coalesce(delivery.retry_at <= $2::timestamptz, true)
          and exists (
            select
            from
              unnest($3::text[], $4::text[]) as working (agent_id, before)
            where
              working.agent_id = delivery.message_agent_id
              and delivery.unsettled < working.before
          )
        ) then 'held'
        when delivery.retry_at is not null then 'retrying'
        when (
          coalesce(delivery.retry_at <= $5::timestamptz, true)
          and exists (
            select
            from
              unnest($6::text[], $7::text[]) as working (agent_id, before)
            where
              working.agent_id = delivery.message_agent_id
              and delivery.unsettled < working.before
          )
        ) then 'running'
        else 'queued'
      end as "state",
      delivery.held_at is not null as "is_by_rule"
    from
      "deliveries"."deliveries" as "delivery"
    where
      "delivery"."tenant_id" = $8
      and "delivery"."received_at" >= $9
      and "delivery"."received_at" < $10
      and (
        delivery.unsettled is not null
        or delivery.held_at is not null
      )
  ) as "open"
group by
  "open"."state",
  "open"."is_by_rule";

-- describedEvent: call
select
  wanted.at::integer as at,
  found.value,
  found.revision
from
  unnest($1::text[]) with ordinality as wanted ("id", at)
  cross join lateral (
    select
      stored."doc" as value,
      stored.revision
    from
      "audit"."audit_logs" stored
    where
      stored."id" = wanted."id"
    limit
      1
  ) found;

-- effectsOf: call
select
  "entry"."place"
from
  "audit"."audit_logs" as "entry"
where
  "entry"."cause_id" = $1
  and "entry"."tenant_id" = $2
order by
  "entry"."place"
limit
  100;

-- enabledExternalMailboxes: call
select
  "mailbox"."id",
  "mailbox"."tenant_id",
  "mailbox"."agent_id"
from
  "mailboxes"."mailboxes" as "mailbox"
where
  "mailbox"."enabled_external_id" > $1
order by
  "mailbox"."enabled_external_id"
limit
  200;

-- entriesUntil: of all
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 41734
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 41734
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [200] as "value",
  (array_agg("page"."id")) [200] as "id"
from
  (
    select
      "entry"."doc" as "doc",
      "entry"."place" as "value",
      "entry"."place" as "id"
    from
      "audit"."audit_logs" as "entry"
    where
      "entry"."place" <= $2
      and "entry"."tenant_id" = $3
    order by
      "entry"."place" asc,
      "entry"."place" asc
    limit
      201
  ) as "page";

-- entriesUntil: of a period and an action
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 41734
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 41734
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [200] as "value",
  (array_agg("page"."id")) [200] as "id"
from
  (
    select
      "entry"."doc" as "doc",
      "entry"."place" as "value",
      "entry"."place" as "id"
    from
      "audit"."audit_logs" as "entry"
    where
      "entry"."place" <= $2
      and "entry"."tenant_id" = $3
      and "entry"."action" = $4
      and "entry"."created_at" >= $5
      and "entry"."created_at" < $6
    order by
      "entry"."place" asc,
      "entry"."place" asc
    limit
      201
  ) as "page";

-- existingMailboxes: call
select
  "mailbox"."id"
from
  "mailboxes"."mailboxes" as "mailbox"
where
  "mailbox"."id" = any ($1);

-- expiringKeys: call
select
  "key"."id",
  "key"."name",
  "key"."expires_at"
from
  "apikeys"."apikeys" as "key"
where
  "key"."tenant_id" = $1
  and "key"."kind" = $2
  and "key"."expires_at" >= $3
  and "key"."expires_at" < $4
order by
  "key"."expires_at",
  "key"."id"
limit
  20;

-- failingAgents: of a tenant
select
  "delivery"."message_agent_id" as "agent_id",
  cast(count(*) as integer) as "count",
  min("delivery"."failed_at") as "since",
  substr(
    max(to_char("delivery"."received_at" at time zone 'UTC', 'YYYYMMDDHH24MISSUS') || "delivery"."id"),
    21
  ) as "example_id"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."tenant_id" = $1
  and "delivery"."unsettled" is not null
  and "delivery"."failed_at" is not null
group by
  "delivery"."message_agent_id"
having
  count(*) >= $2
order by
  "count" desc,
  "example_id"
limit
  20;

-- failingAgents: of some agents
select
  "delivery"."message_agent_id" as "agent_id",
  cast(count(*) as integer) as "count",
  min("delivery"."failed_at") as "since",
  substr(
    max(to_char("delivery"."received_at" at time zone 'UTC', 'YYYYMMDDHH24MISSUS') || "delivery"."id"),
    21
  ) as "example_id"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."tenant_id" = $1
  and "delivery"."agent_id" = any ($2)
  and "delivery"."unsettled" is not null
  and "delivery"."failed_at" is not null
  and "delivery"."message_agent_id" = any ($3)
group by
  "delivery"."message_agent_id"
having
  count(*) >= $4
order by
  "count" desc,
  "example_id"
limit
  20;

-- filesWithDigest: call
select distinct
  on ("attachment"."agent_id") "attachment"."agent_id",
  "attachment"."doc"
from
  "sessions"."attachments" as "attachment"
where
  "attachment"."tenant_id" = $1
  and "attachment"."sha256" = $2
order by
  "attachment"."agent_id"
limit
  200;

-- filesWithDigest: of one agent
select distinct
  on ("attachment"."agent_id") "attachment"."agent_id",
  "attachment"."doc"
from
  "sessions"."attachments" as "attachment"
where
  "attachment"."tenant_id" = $1
  and "attachment"."sha256" = $2
  and "attachment"."agent_id" = $3
order by
  "attachment"."agent_id"
limit
  200;

-- findMentions: that start with a text
select
  "row"."id" as "id",
  "row"."name" as "label",
  "row"."slug" as "detail"
from
  "agents"."agents" as "row"
where
  "row"."tenant_id" = $1
  and "row"."deleted" is not true
  and lower(left("row"."search", 64)) collate "C" >= $2
  and lower(left("row"."search", 64)) collate "C" < $3
order by
  lower(left("row"."search", 64)) collate "C",
  "row"."id"
limit
  $4;

-- findMentions: that start with a text
select
  "row"."id" as "id",
  "row"."name" as "label",
  "row"."slug" as "detail"
from
  "agents"."agents" as "row"
where
  "row"."tenant_id" = $1
  and "row"."deleted" is not true
  and "row"."search" ilike $2
limit
  $3;

-- findMentions: of files, in two tables
select
  "row"."sha256" as "id",
  "row"."filename" as "label",
  "row"."content_type" as "detail"
from
  "sessions"."attachments" as "row"
where
  "row"."tenant_id" = $1
  and "row"."agent_id" = any ($2)
  and lower(left("row"."search", 64)) collate "C" >= $3
  and lower(left("row"."search", 64)) collate "C" < $4
order by
  lower(left("row"."search", 64)) collate "C",
  "row"."sha256"
limit
  $5;

-- findMentions: of files, in two tables
select
  "row"."sha256" as "id",
  "row"."filename" as "label",
  "row"."content_type" as "detail"
from
  "mail"."attachments" as "row"
where
  "row"."tenant_id" = $1
  and "row"."agent_id" = any ($2)
  and lower(left("row"."search", 64)) collate "C" >= $3
  and lower(left("row"."search", 64)) collate "C" < $4
order by
  lower(left("row"."search", 64)) collate "C",
  "row"."sha256"
limit
  $5;

-- findMentions: of files, in two tables
select
  "row"."sha256" as "id",
  "row"."filename" as "label",
  "row"."content_type" as "detail"
from
  "sessions"."attachments" as "row"
where
  "row"."tenant_id" = $1
  and "row"."agent_id" = any ($2)
  and "row"."search" ilike $3
limit
  $4;

-- findMentions: of files, in two tables
select
  "row"."sha256" as "id",
  "row"."filename" as "label",
  "row"."content_type" as "detail"
from
  "mail"."attachments" as "row"
where
  "row"."tenant_id" = $1
  and "row"."agent_id" = any ($2)
  and "row"."search" ilike $3
limit
  $4;

-- firstCostDay: call
select
  "usage"."day"
from
  "costs"."days" as "usage"
where
  "usage"."tenant_id" = $1
order by
  "usage"."day"
limit
  $2;

-- firstMessageAt: call
select
  coalesce(
    (
      select
        (step ->> 'at')::timestamptz
      from
        jsonb_array_elements("delivery"."doc"::jsonb -> 'causation') as step
      where
        step ->> 'event_id' = "delivery"."message_id"
      limit
        1
    ),
    "delivery"."received_at"
  ) as "started_at"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."tenant_id" = $1
  and "delivery"."message_agent_id" = $2
  and "delivery"."unsettled" >= $3
order by
  "delivery"."unsettled"
limit
  1;

-- givenUpByAgent: call
select
  "delivery"."agent_id",
  cast(count(*) as integer) as "count"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."tenant_id" = $1
  and "delivery"."outcome" = $2
  and "delivery"."failed_at" >= $3
group by
  "delivery"."agent_id";

-- givenUpByHour: of a tenant
select
  floor(
    extract(
      epoch
      from
        "delivery"."failed_at" - $1::timestamptz
    )::float8 / 3600
  )::integer as "hour",
  cast(count(*) as integer) as "count"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."tenant_id" = $2
  and "delivery"."outcome" = $3
  and "delivery"."failed_at" >= $4
group by
  "hour";

-- givenUpByHour: of some agents
select
  floor(
    extract(
      epoch
      from
        "delivery"."failed_at" - $1::timestamptz
    )::float8 / 3600
  )::integer as "hour",
  cast(count(*) as integer) as "count"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."tenant_id" = $2
  and "delivery"."agent_id" = any ($3)
  and "delivery"."outcome" = $4
  and "delivery"."failed_at" >= $5
group by
  "hour";

-- givenUpSince: of a tenant
select
  "delivery"."agent_id",
  "delivery"."reason",
  "delivery"."problem",
  cast(count(*) as integer) as "count",
  min("delivery"."failed_at") as "since",
  substr(
    max(to_char("delivery"."received_at" at time zone 'UTC', 'YYYYMMDDHH24MISSUS') || "delivery"."id"),
    21
  ) as "example_id"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."tenant_id" = $1
  and "delivery"."outcome" = $2
  and "delivery"."failed_at" >= $3
group by
  "delivery"."agent_id",
  "delivery"."reason",
  "delivery"."problem"
order by
  "count" desc,
  "example_id"
limit
  20;

-- givenUpSince: of some agents
select
  "delivery"."agent_id",
  "delivery"."reason",
  "delivery"."problem",
  cast(count(*) as integer) as "count",
  min("delivery"."failed_at") as "since",
  substr(
    max(to_char("delivery"."received_at" at time zone 'UTC', 'YYYYMMDDHH24MISSUS') || "delivery"."id"),
    21
  ) as "example_id"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."tenant_id" = $1
  and "delivery"."agent_id" = any ($2)
  and "delivery"."outcome" = $3
  and "delivery"."failed_at" >= $4
group by
  "delivery"."agent_id",
  "delivery"."reason",
  "delivery"."problem"
order by
  "count" desc,
  "example_id"
limit
  20;

-- grantCounts: all
select
  "granted"."item_id",
  cast(count(*) as integer) as "count"
from
  "agents"."agents" as "agent"
  inner join "agents"."granted_items" as "granted" on "granted"."tenant_id" = "agent"."tenant_id"
  and "granted"."agent_id" = "agent"."id"
where
  "agent"."tenant_id" = $1
  and "agent"."deleted" is not true
  and "granted"."item_id" = any ($2)
group by
  "granted"."item_id";

-- grantCounts: visible ones
select
  "granted"."item_id",
  cast(count(*) as integer) as "count"
from
  "agents"."agents" as "agent"
  inner join "agents"."granted_items" as "granted" on "granted"."tenant_id" = "agent"."tenant_id"
  and "granted"."agent_id" = "agent"."id"
where
  "agent"."tenant_id" = $1
  and "agent"."is_admin_only" = $2
  and exists (
    select
    from
      "agents"."agent_access" as "access"
    where
      "access"."tenant_id" = "agent"."tenant_id"
      and "access"."agent_id" = "agent"."id"
      and "access"."user_id" = $3
      and "access"."role" = any ($4)
      and "access"."given" > $5
  )
  and "agent"."deleted" is not true
  and "granted"."item_id" = any ($6)
group by
  "granted"."item_id";

-- guardrailHits: of a tenant
select
  checked.verdict ->> 'rule' as "rule",
  checked.verdict ->> 'verdict' as "verdict",
  count(*) as "count",
  max("checked"."received_at") as "last_at"
from
  (
    select
      "newest"."received_at",
      jsonb_array_elements(newest.doc::jsonb -> 'guardrails') as "verdict"
    from
      (
        select
          "delivery"."received_at",
          "delivery"."doc"
        from
          "deliveries"."deliveries" as "delivery"
        where
          "delivery"."tenant_id" = $1
          and "delivery"."received_at" >= $2
          and "delivery"."outcome" <> $3
        order by
          "delivery"."received_at" desc,
          "delivery"."id" desc
        limit
          20000
      ) as "newest"
    where
      newest.doc ~ '"verdict":"(block|redact|label|hold)"'
  ) as "checked"
where
  checked.verdict ->> 'verdict' <> $4
group by
  "rule",
  checked.verdict ->> 'verdict';

-- guardrailHits: of an integration
select
  checked.verdict ->> 'rule' as "rule",
  checked.verdict ->> 'verdict' as "verdict",
  count(*) as "count",
  max("checked"."received_at") as "last_at"
from
  (
    select
      "newest"."received_at",
      jsonb_array_elements(newest.doc::jsonb -> 'guardrails') as "verdict"
    from
      (
        select
          "delivery"."received_at",
          "delivery"."doc"
        from
          "deliveries"."deliveries" as "delivery"
        where
          "delivery"."tenant_id" = $1
          and "delivery"."integration_id" = $2
          and "delivery"."received_at" >= $3
          and "delivery"."outcome" <> $4
        order by
          "delivery"."received_at" desc,
          "delivery"."id" desc
        limit
          20000
      ) as "newest"
    where
      newest.doc ~ '"verdict":"(block|redact|label|hold)"'
  ) as "checked"
where
  checked.verdict ->> 'verdict' <> $5
group by
  "rule",
  checked.verdict ->> 'verdict';

-- hasAcknowledged: of a tenant
select
  "newest"."status"
from
  (
    select
      "delivery"."status"
    from
      "deliveries"."deliveries" as "delivery"
    where
      "delivery"."tenant_id" = $1
    order by
      "delivery"."received_at" desc,
      "delivery"."id" desc
    limit
      1000
  ) as "newest"
where
  "newest"."status" = $2
limit
  1;

-- hasAcknowledged: of some agents
select
  "newest"."status"
from
  (
    select
      "delivery"."status"
    from
      "deliveries"."deliveries" as "delivery"
    where
      "delivery"."tenant_id" = $1
      and "delivery"."agent_id" = any ($2)
    order by
      "delivery"."received_at" desc,
      "delivery"."id" desc
    limit
      1000
  ) as "newest"
where
  "newest"."status" = $3
limit
  1;

-- hasHeldOver: call
select
  "delivery"."id"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."tenant_id" = $1
  and "delivery"."integration_id" = $2
  and "delivery"."held_at" is not null
limit
  1;

-- hasOpenRuns: call
select
  "run"."id"
from
  "benchmark_runs"."runs" as "run"
where
  "run"."open_since" is not null
order by
  "run"."open_since"
limit
  1;

-- headCovering: call
select
  "head"."doc",
  "head"."tree",
  "head"."place"
from
  "auditheads"."heads" as "head"
where
  "head"."tenant_id" = $1
  and "head"."version" = $2
  and "head"."place" >= $3
order by
  "head"."place"
limit
  1;

-- headPage: first page
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "head"."doc" as "doc",
      "head"."size" as "value",
      "head"."id" as "id"
    from
      "auditheads"."heads" as "head"
    where
      "head"."tenant_id" = $2
      and "head"."version" = $3
    order by
      "head"."size" desc,
      "head"."id" desc
    limit
      51
  ) as "page";

-- headsToAnchor: call
select
  "head"."tenant_id",
  "head"."id",
  "head"."doc"
from
  "auditheads"."heads" as "head"
where
  "head"."unanchored_since" is not null
order by
  "head"."unanchored_since",
  "head"."size"
limit
  100;

-- heldByRules: of a tenant
select
  "delivery"."agent_id",
  "delivery"."held_reason" as "reason",
  "delivery"."held_rule" as "rule",
  "delivery"."held_note" as "note",
  count(*) as "count",
  min("delivery"."held_until") as "until",
  min("delivery"."received_at") as "since",
  substr(
    min(to_char("delivery"."received_at" at time zone 'UTC', 'YYYYMMDDHH24MISSUS') || "delivery"."id"),
    21
  ) as "example_id"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."tenant_id" = $1
  and "delivery"."held_at" is not null
group by
  "delivery"."agent_id",
  "delivery"."held_reason",
  "delivery"."held_rule",
  "delivery"."held_note"
order by
  "since",
  "example_id"
limit
  200;

-- heldByRules: of some agents
select
  "delivery"."agent_id",
  "delivery"."held_reason" as "reason",
  "delivery"."held_rule" as "rule",
  "delivery"."held_note" as "note",
  count(*) as "count",
  min("delivery"."held_until") as "until",
  min("delivery"."received_at") as "since",
  substr(
    min(to_char("delivery"."received_at" at time zone 'UTC', 'YYYYMMDDHH24MISSUS') || "delivery"."id"),
    21
  ) as "example_id"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."tenant_id" = $1
  and "delivery"."agent_id" = any ($2)
  and "delivery"."agent_id" = $3
  and "delivery"."held_at" is not null
group by
  "delivery"."agent_id",
  "delivery"."held_reason",
  "delivery"."held_rule",
  "delivery"."held_note"
order by
  "since",
  "example_id"
limit
  200;

-- heldByRulesOfAllTenants: call
select
  "delivery"."held_reason" as "reason",
  "delivery"."held_rule" as "rule",
  count(*) as "count",
  min("delivery"."held_until") as "until"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."held_at" is not null
  and (
    not exists (
      select
      from
        tenants.tenants as tenant
      where
        tenant.id = delivery.tenant_id
        and (
          tenant.is_suspended
          or tenant.closing
          or tenant.closed
        )
    )
    and not exists (
      select
      from
        agents.agents as agent
      where
        agent.tenant_id = delivery.tenant_id
        and agent.id = "delivery"."agent_id"
        and agent.deleted
    )
  )
group by
  "delivery"."held_reason",
  "delivery"."held_rule";

-- heldBySpentBudgets: of a tenant
select
  "delivery"."agent_id",
  "delivery"."message_agent_id",
  count(*) as "count",
  min("delivery"."received_at") as "since",
  substr(
    min(to_char("delivery"."received_at" at time zone 'UTC', 'YYYYMMDDHH24MISSUS') || "delivery"."id"),
    21
  ) as "example_id"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."tenant_id" = $1
  and "delivery"."unsettled" <= (
    select
      "publication"."place"
    from
      "deliveries"."publications" as "publication"
    order by
      "publication"."recorded" desc
    limit
      1
  )
  and not (
    coalesce(delivery.retry_at <= $2::timestamptz, true)
    and exists (
      select
      from
        unnest($3::text[], $4::text[]) as working (agent_id, before)
      where
        working.agent_id = delivery.message_agent_id
        and delivery.unsettled < working.before
    )
  )
  and delivery.message_agent_id = any ($5::text[])
group by
  "delivery"."agent_id",
  "delivery"."message_agent_id"
order by
  "since",
  "example_id"
limit
  200;

-- heldDeliveries: call
select
  "delivery"."tenant_id",
  "delivery"."integration_id"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."held_at" is not null
  and ("delivery"."tenant_id", "delivery"."integration_id") > ($1, $2)
order by
  "delivery"."tenant_id",
  "delivery"."integration_id"
limit
  1;

-- hiddenCount: but people
select
  cast(count(*) as integer) as "count"
from
  (
    select
      "entry"."id"
    from
      "audit"."audit_logs" as "entry"
    where
      "entry"."tenant_id" = $1
      and "entry"."user_id" is null
    limit
      5000
  ) as "hidden";

-- hiddenCount: but the platform
select
  cast(count(*) as integer) as "count"
from
  (
    select
      "entry"."id"
    from
      "audit"."audit_logs" as "entry"
    where
      "entry"."tenant_id" = $1
      and "entry"."created_at" < $2
      and (
        "entry"."user_id" is not null
        or "entry"."by_runner" = $3
      )
    limit
      5000
  ) as "hidden";

-- hoursByAgent: call
select
  "delivery"."agent_id",
  floor(
    extract(
      epoch
      from
        delivery.received_at - $1::timestamptz
    )::float8 / 3600
  )::integer as "hour",
  cast(count(*) as integer) as "count"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."tenant_id" = $2
  and "delivery"."agent_id" = any ($3)
  and "delivery"."received_at" >= $4
group by
  "delivery"."agent_id",
  "hour";

-- identitiesDueAt: call
select
  "identity"."tenant_id",
  "identity"."id"
from
  "linked_identities"."identities" as "identity"
where
  "identity"."due_at" <= $1
order by
  "identity"."due_at"
limit
  100;

-- identityPage: first page
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "identity"."doc" as "doc",
      "identity"."created_at" as "value",
      "identity"."id" as "id"
    from
      "linked_identities"."identities" as "identity"
    where
      "identity"."tenant_id" = $2
      and "identity"."unlinked" is not true
    order by
      "identity"."created_at" desc,
      "identity"."id" desc
    limit
      51
  ) as "page";

-- identityPage: of agents
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "identity"."doc" as "doc",
      "identity"."created_at" as "value",
      "identity"."id" as "id"
    from
      "linked_identities"."identities" as "identity"
    where
      "identity"."tenant_id" = $2
      and (
        "identity"."agent_id" is null
        or "identity"."agent_id" = any ($3)
      )
      and "identity"."unlinked" is not true
    order by
      "identity"."created_at" desc,
      "identity"."id" desc
    limit
      51
  ) as "page";

-- importJob: call
select
  "import"."agent_id",
  "import"."job",
  "import"."revision"
from
  "memory"."imports" as "import"
where
  "import"."tenant_id" = $1
  and "import"."id" = $2;

-- importOfEntry: call
select
  "import"."id",
  "import"."imported_at",
  "import"."segments"
from
  "memory"."imports" as "import"
where
  "import"."tenant_id" = $1
  and "import"."id" >= $2
  and "import"."id" <= $3
  and "import"."agent_id" = $4
  and "import"."imported_at" is not null;

-- importsOfMemory: newest
select
  "import"."id",
  "import"."imported_at",
  "import"."segments"
from
  "memory"."imports" as "import"
where
  "import"."tenant_id" = $1
  and "import"."agent_id" = $2
  and "import"."imported_at" is not null
order by
  "import"."imported_at" desc,
  "import"."id" desc
limit
  20;

-- importsOfMemory: next
select
  "import"."id",
  "import"."imported_at",
  "import"."segments"
from
  "memory"."imports" as "import"
where
  "import"."tenant_id" = $1
  and "import"."agent_id" = $2
  and "import"."imported_at" is not null
  and ("import"."imported_at", "import"."id") <= ($3, $4)
order by
  "import"."imported_at" desc,
  "import"."id" desc
limit
  20;

-- integrationById: call
select
  wanted.at::integer as at,
  found.value,
  found.revision
from
  unnest($1::text[]) with ordinality as wanted ("id", at)
  cross join lateral (
    select
      stored."doc" as value,
      stored.revision
    from
      "integrations"."integrations" stored
    where
      stored."id" = wanted."id"
      and stored."disconnected" is not true
    limit
      1
  ) found;

-- integrationCount: call
select
  wanted.at::integer as at,
  found.value,
  found.revision
from
  unnest($1::text[]) with ordinality as wanted ("tenant_id", at)
  cross join lateral (
    select
      stored."integrations" as value,
      stored.revision
    from
      "integrations"."integration_counts" stored
    where
      stored."tenant_id" = wanted."tenant_id"
    limit
      1
  ) found;

-- integrationName: call
select
  "integration"."label",
  "integration"."provider",
  "integration"."agent_id"
from
  "integrations"."integrations" as "integration"
where
  "integration"."id" = $1
  and "integration"."tenant_id" = $2
  and "integration"."disconnected" is not true;

-- integrationPage: first page
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "integration"."doc" as "doc",
      "integration"."created_at" as "value",
      "integration"."id" as "id"
    from
      "integrations"."integrations" as "integration"
    where
      "integration"."tenant_id" = $2
      and "integration"."disconnected" is not true
    order by
      "integration"."created_at" desc,
      "integration"."id" desc
    limit
      51
  ) as "page";

-- integrationPage: of an agent and a provider
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "integration"."doc" as "doc",
      "integration"."created_at" as "value",
      "integration"."id" as "id"
    from
      "integrations"."integrations" as "integration"
    where
      "integration"."tenant_id" = $2
      and "integration"."agent_id" = $3
      and "integration"."provider" = $4
      and "integration"."disconnected" is not true
    order by
      "integration"."created_at" desc,
      "integration"."id" desc
    limit
      51
  ) as "page";

-- invocationPage: first page
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "invocation"."doc" as "doc",
      "invocation"."at" as "value",
      "invocation"."id" as "id"
    from
      "invocations"."invocations" as "invocation"
    where
      "invocation"."tenant_id" = $2
      and "invocation"."skill_id" = $3
    order by
      "invocation"."at" desc,
      "invocation"."id" desc
    limit
      51
  ) as "page";

-- invocationPage: with every filter
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "invocation"."doc" as "doc",
      "invocation"."at" as "value",
      "invocation"."id" as "id"
    from
      "invocations"."invocations" as "invocation"
    where
      "invocation"."tenant_id" = $2
      and "invocation"."skill_id" = $3
      and "invocation"."outcome" = $4
      and "invocation"."at" >= $5
      and "invocation"."at" < $6
    order by
      "invocation"."at" desc,
      "invocation"."id" desc
    limit
      51
  ) as "page";

-- jobById: call
select
  wanted.at::integer as at,
  found.value,
  found.revision
from
  unnest($1::text[], $2::text[]) with ordinality as wanted ("tenant_id", "id", at)
  cross join lateral (
    select
      stored."doc" as value,
      stored.revision
    from
      "replays"."jobs" stored
    where
      stored."tenant_id" = wanted."tenant_id"
      and stored."id" = wanted."id"
    limit
      1
  ) found;

-- jobPage: of a tenant
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "job"."listed" as "doc",
      "job"."created_at" as "value",
      "job"."id" as "id"
    from
      "replays"."jobs" as "job"
    where
      "job"."tenant_id" = $2
    order by
      "job"."created_at" desc,
      "job"."id" desc
    limit
      51
  ) as "page";

-- jobPage: with every filter
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "job"."listed" as "doc",
      "job"."created_at" as "value",
      "job"."id" as "id"
    from
      "replays"."jobs" as "job"
    where
      "job"."tenant_id" = $2
      and "job"."kind" = $3
      and "job"."status" = $4
      and "job"."agent_id" = any ($5)
    order by
      "job"."created_at" desc,
      "job"."id" desc
    limit
      51
  ) as "page";

-- jobsDueAt: call
select
  "job"."tenant_id",
  "job"."id",
  "job"."next_fire_at",
  "job"."schedule_revision"
from
  "cron_jobs"."jobs" as "job"
where
  "job"."next_fire_at" <= $1
order by
  "job"."next_fire_at"
limit
  10000;

-- jobsWithOccurrences: of the tenant
select
  "job"."id",
  "job"."agent_id",
  "job"."name",
  "job"."status",
  "job"."next_fire_at",
  "job"."schedule_revision"
from
  "cron_jobs"."jobs" as "job"
where
  "job"."tenant_id" = $1
  and (
    (
      "job"."status" = $2
      and "job"."next_fire_at" < $3
    )
    or exists (
      select
        "run"."id"
      from
        "cron_jobs"."runs" as "run"
      where
        "run"."tenant_id" = "job"."tenant_id"
        and "run"."job_id" = "job"."id"
        and "run"."due_at" >= $4
        and "run"."due_at" < $5
    )
  )
order by
  "job"."name",
  "job"."id"
limit
  50;

-- jobsWithOpenRun: call
select
  "run"."job_id"
from
  "cron_jobs"."runs" as "run"
where
  "run"."is_open" is not null
  and "run"."job_id" = any ($1);

-- keyPage: first page
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "key"."doc" as "doc",
      "key"."created_at" as "value",
      "key"."id" as "id"
    from
      "apikeys"."apikeys" as "key"
    where
      "key"."kind" = $2
      and "key"."tenant_id" = $3
    order by
      "key"."created_at" desc,
      "key"."id" desc
    limit
      51
  ) as "page";

-- keyPage: of a user
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "key"."doc" as "doc",
      "key"."created_at" as "value",
      "key"."id" as "id"
    from
      "apikeys"."apikeys" as "key"
    where
      "key"."kind" = $2
      and "key"."tenant_id" = $3
      and "key"."owner_id" = $4
    order by
      "key"."created_at" desc,
      "key"."id" desc
    limit
      51
  ) as "page";

-- keysBefore: call
select
  "credential"."public_key",
  "credential"."created_at"
from
  "runner_credentials"."runner_credentials" as "credential"
where
  "credential"."tenant_id" = $1
  and "credential"."agent_id" = $2
  and "credential"."created_at" < $3
order by
  "credential"."created_at" desc,
  "credential"."id" desc
limit
  20;

-- knownDeliveries: call
select
  "delivery"."id"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."tenant_id" = $1
  and "delivery"."integration_id" = $2
  and "delivery"."id" = any ($3);

-- lastAcknowledgedAt: call
select
  "delivery"."id"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."tenant_id" = $1
  and "delivery"."agent_id" = $2
  and "delivery"."status" = $3
  and "delivery"."message_agent_id" = $4
order by
  "delivery"."received_at" desc
limit
  1;

-- lastActiveAt: call
select
  wanted.at::integer as at,
  found.value,
  found.revision
from
  unnest($1::text[]) with ordinality as wanted ("tenant_id", at)
  cross join lateral (
    select
      stored."doc" as value,
      stored.revision
    from
      "tenants"."activity" stored
    where
      stored."tenant_id" = wanted."tenant_id"
    limit
      1
  ) found;

-- lastDecisionUntil: call
select
  "run"."decision",
  "run"."created_at",
  "run"."next_fire_at",
  "run"."schedule_revision"
from
  "cron_jobs"."runs" as "run"
where
  "run"."tenant_id" = $1
  and "run"."job_id" = $2
  and "run"."decided" <= $3
order by
  "run"."decided" desc
limit
  1;

-- lastDeliveries: call
select
  wanted.at::integer as at,
  found.value,
  found.revision
from
  unnest($1::text[]) with ordinality as wanted ("id", at)
  cross join lateral (
    select
      stored."doc" as value,
      stored.revision
    from
      "integrations"."integrations" stored
    where
      stored."id" = wanted."id"
      and stored."disconnected" is not true
    limit
      1
  ) found;

-- lastDeliveriesUntil: call
select
  "entry"."doc"
from
  "audit"."audit_logs" as "entry"
where
  "entry"."tenant_id" = $1
  and "entry"."place" <= $2
order by
  "entry"."place" desc
limit
  1;

-- lastDeliveriesUntil: call
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "delivery"."doc" as "doc",
      "delivery"."received_at" as "value",
      "delivery"."id" as "id"
    from
      "deliveries"."deliveries" as "delivery"
    where
      "delivery"."tenant_id" = $2
      and "delivery"."integration_id" = $3
      and "delivery"."outcome" in ($4, $5, $6)
      and "delivery"."received_at" <= $7
    order by
      "delivery"."received_at" desc,
      "delivery"."id" desc
    limit
      51
  ) as "page";

-- lastFailures: of some deliveries
select
  "delivery"."id",
  "delivery"."list_doc"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."tenant_id" = $1
  and "delivery"."id" = any ($2);

-- lastKeyUses: call
select
  "key"."owner_id",
  max("key"."last_used_at") as "last_used_at"
from
  "apikeys"."apikeys" as "key"
where
  "key"."tenant_id" = $1
  and "key"."owner_id" = any ($2)
  and "key"."kind" = $3
  and "key"."last_used_at" is not null
group by
  "key"."owner_id";

-- latestEntry: of all
select
  "entry"."doc"
from
  "audit"."audit_logs" as "entry"
where
  "entry"."tenant_id" = $1
order by
  "entry"."place" desc
limit
  1;

-- latestEntry: until a position
select
  "entry"."doc"
from
  "audit"."audit_logs" as "entry"
where
  "entry"."tenant_id" = $1
  and "entry"."place" <= $2
order by
  "entry"."place" desc
limit
  1;

-- leavesBetween: call
select
  "entry"."leaf_hash",
  "entry"."place"
from
  "audit"."audit_logs" as "entry"
where
  "entry"."tenant_id" = $1
  and "entry"."place" > $2
  and "entry"."place" <= $3
order by
  "entry"."place"
limit
  1000;

-- limitedAgents: of a tenant
select
  "agent"."id",
  "agent"."name",
  "agent"."hourly_limit_micros"
from
  "agents"."agents" as "agent"
where
  "agent"."tenant_id" = $1
  and "agent"."hourly_limit_micros" is not null
  and "agent"."deleted" is not true
order by
  "agent"."is_active" desc,
  "agent"."updated_at" desc,
  "agent"."id"
limit
  100;

-- limitedAgents: of some agents
select
  "agent"."id",
  "agent"."name",
  "agent"."hourly_limit_micros"
from
  "agents"."agents" as "agent"
where
  "agent"."tenant_id" = $1
  and "agent"."hourly_limit_micros" is not null
  and "agent"."deleted" is not true
  and "agent"."id" = any ($2)
order by
  "agent"."is_active" desc,
  "agent"."updated_at" desc,
  "agent"."id"
limit
  100;

-- linkedProvidersOf: call
select
  "identity"."provider"
from
  "linked_identities"."identities" as "identity"
where
  "identity"."tenant_id" = $1
  and "identity"."agent_id" = $2
  and "identity"."unlinked" is not true
order by
  "identity"."provider";

-- listingPage: first page
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "listing"."doc" as "doc",
      "listing"."created_at" as "value",
      "listing"."id" as "id"
    from
      "listings"."listings" as "listing"
    order by
      "listing"."created_at" desc,
      "listing"."id" desc
    limit
      51
  ) as "page";

-- listingPage: of a tenant
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "listing"."doc" as "doc",
      "listing"."created_at" as "value",
      "listing"."id" as "id"
    from
      "listings"."listings" as "listing"
    where
      "listing"."publisher_id" = $2
    order by
      "listing"."created_at" desc,
      "listing"."id" desc
    limit
      51
  ) as "page";

-- listingWithSlug: call
select
  "listing"."doc",
  "listing"."revision"
from
  "listings"."listings" as "listing"
where
  "listing"."slug" = $1;

-- mailDueAt: call
select
  "message"."tenant_id",
  "message"."id"
from
  "mail"."messages" as "message"
where
  "message"."due_at" <= $1
order by
  "message"."due_at"
limit
  200;

-- mailFilesWithDigest: call
select distinct
  on ("attachment"."agent_id") "attachment"."agent_id",
  "attachment"."filename",
  "attachment"."content_type"
from
  "mail"."attachments" as "attachment"
where
  "attachment"."tenant_id" = $1
  and "attachment"."sha256" = $2
order by
  "attachment"."agent_id"
limit
  200;

-- mailFilesWithDigest: of one agent
select distinct
  on ("attachment"."agent_id") "attachment"."agent_id",
  "attachment"."filename",
  "attachment"."content_type"
from
  "mail"."attachments" as "attachment"
where
  "attachment"."tenant_id" = $1
  and "attachment"."sha256" = $2
  and "attachment"."agent_id" = $3
order by
  "attachment"."agent_id"
limit
  200;

-- mailboxCounts: call
select
  "mailbox"."message_count",
  "mailbox"."last_message_at"
from
  "mailboxes"."mailboxes" as "mailbox"
where
  "mailbox"."id" = $1;

-- mailboxPage: first page
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "mailbox"."doc" as "doc",
      "mailbox"."created_at" as "value",
      "mailbox"."id" as "id"
    from
      "mailboxes"."mailboxes" as "mailbox"
    order by
      "mailbox"."created_at" desc,
      "mailbox"."id" desc
    limit
      51
  ) as "page";

-- membershipPages: call
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 41734
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 41734
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [200] as "value",
  (array_agg("page"."id")) [200] as "id"
from
  (
    select
      "membership"."doc" as "doc",
      "membership"."since" as "value",
      "membership"."tenant_id" as "id"
    from
      "users"."memberships" as "membership"
    where
      "membership"."user_id" = $2
    order by
      "membership"."since" asc,
      "membership"."tenant_id" asc
    limit
      201
  ) as "page";

-- membershipsOf: call
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 41734
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 41734
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [200] as "value",
  (array_agg("page"."id")) [200] as "id"
from
  (
    select
      "membership"."doc" as "doc",
      "membership"."since" as "value",
      "membership"."tenant_id" as "id"
    from
      "users"."memberships" as "membership"
    where
      "membership"."user_id" = $2
    order by
      "membership"."since" asc,
      "membership"."tenant_id" asc
    limit
      201
  ) as "page";

-- memoryFilesWithDigest: call
select distinct
  on ("import"."agent_id") "import"."agent_id",
  "import"."source",
  "import"."format"
from
  "memory"."imports" as "import"
where
  "import"."tenant_id" = $1
  and "import"."sha256" = $2
order by
  "import"."agent_id"
limit
  200;

-- memorySummary: call
select
  "memory"."changes",
  "memory"."remembered",
  (
    select
      cast(coalesce(sum("import"."entries"), 0) as integer) as "entries"
    from
      "memory"."imports" as "import"
    where
      "import"."tenant_id" = $1
      and "import"."agent_id" = $2
      and "import"."imported_at" is not null
  ) as "entries"
from
  "memory"."changes" as "memory"
where
  "memory"."tenant_id" = $3
  and "memory"."agent_id" = $4;

-- messagePage: first page
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "message"."doc" as "doc",
      "message"."created_at" as "value",
      "message"."id" as "id"
    from
      "mail"."messages" as "message"
    where
      "message"."tenant_id" = $2
      and "message"."agent_id" = $3
    order by
      "message"."created_at" desc,
      "message"."id" desc
    limit
      51
  ) as "page";

-- messagePage: in a direction
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "message"."doc" as "doc",
      "message"."created_at" as "value",
      "message"."id" as "id"
    from
      "mail"."messages" as "message"
    where
      "message"."tenant_id" = $2
      and "message"."agent_id" = $3
      and "message"."direction" = $4
      and ("message"."created_at", "message"."id") < ($5, $6)
    order by
      "message"."created_at" desc,
      "message"."id" desc
    limit
      51
  ) as "page";

-- messagesAfter: call
select
  cast(count(*) as integer) as "count"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."tenant_id" = $1
  and "delivery"."message_agent_id" = $2
  and "delivery"."unsettled" > $3;

-- messagesDueAt: call
select
  "run"."tenant_id",
  "run"."id",
  "run"."job_id"
from
  "cron_jobs"."runs" as "run"
where
  "run"."target_kind" = $1
  and "run"."next_attempt_at" <= $2
order by
  "run"."next_attempt_at"
limit
  500;

-- missedRuns: of a tenant
select
  "job"."id",
  "job"."agent_id",
  "job"."name",
  cast(count(*) as integer) as "count",
  min("run"."due_at") as "since"
from
  "cron_jobs"."runs" as "run"
  inner join "cron_jobs"."jobs" as "job" on "job"."tenant_id" = "run"."tenant_id"
  and "job"."id" = "run"."job_id"
where
  "run"."tenant_id" = $1
  and "run"."due_at" >= $2
  and "run"."decision" = $3
  and "job"."deleted" is not true
group by
  "job"."id",
  "job"."agent_id",
  "job"."name"
order by
  "count" desc,
  "job"."id"
limit
  20;

-- missedRuns: of some agents
select
  "job"."id",
  "job"."agent_id",
  "job"."name",
  cast(count(*) as integer) as "count",
  min("run"."due_at") as "since"
from
  "cron_jobs"."runs" as "run"
  inner join "cron_jobs"."jobs" as "job" on "job"."tenant_id" = "run"."tenant_id"
  and "job"."id" = "run"."job_id"
where
  "run"."tenant_id" = $1
  and "run"."due_at" >= $2
  and "run"."decision" = $3
  and "job"."deleted" is not true
  and "job"."agent_id" = any ($4)
group by
  "job"."id",
  "job"."agent_id",
  "job"."name"
order by
  "count" desc,
  "job"."id"
limit
  20;

-- modelsOpenToTenant: first page
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "model"."list_doc" as "doc",
      "model"."created_at" as "value",
      "model"."id" as "id"
    from
      "models"."models" as "model"
    where
      (
        "model"."available_to_all_tenants" = $2
        or exists (
          select
          from
            "models"."model_tenants" as "opened"
          where
            "opened"."tenant_id" = $3
            and "opened"."model_id" = "model"."id"
        )
      )
    order by
      "model"."created_at" desc,
      "model"."id" desc
    limit
      51
  ) as "page";

-- namesOf: call
select
  "agent"."id",
  "agent"."name"
from
  "agents"."agents" as "agent"
where
  "agent"."tenant_id" = $1
  and "agent"."id" = any ($2);

-- namesOf: call
select
  "integration"."id",
  "integration"."label"
from
  "integrations"."integrations" as "integration"
where
  "integration"."tenant_id" = $1
  and "integration"."id" = any ($2);

-- newestHead: call
select
  "head"."doc",
  "head"."tree",
  "head"."place"
from
  "auditheads"."heads" as "head"
where
  "head"."tenant_id" = $1
  and "head"."version" = $2
order by
  "head"."place" desc
limit
  1;

-- openAgents: of a tenant
select
  "open"."agent_id"
from
  (
    select
      "delivery"."message_agent_id" as "agent_id",
      "delivery"."unsettled"
    from
      "deliveries"."deliveries" as "delivery"
    where
      "delivery"."tenant_id" = $1
      and "delivery"."unsettled" is not null
    order by
      "delivery"."unsettled"
    limit
      20000
  ) as "open"
group by
  "open"."agent_id"
order by
  min("open"."unsettled")
limit
  100;

-- openAgents: of some agents
select
  "open"."agent_id"
from
  (
    select
      "delivery"."message_agent_id" as "agent_id",
      "delivery"."unsettled"
    from
      "deliveries"."deliveries" as "delivery"
    where
      "delivery"."tenant_id" = $1
      and "delivery"."unsettled" is not null
      and "delivery"."agent_id" = $2
      and "delivery"."agent_id" = any ($3)
    order by
      "delivery"."unsettled"
    limit
      20000
  ) as "open"
group by
  "open"."agent_id"
order by
  min("open"."unsettled")
limit
  100;

-- openCounts: of a tenant
select
  greatest(
    floor(
      extract(
        epoch
        from
          "delivery"."received_at" - $1::timestamptz
      )::float8 / 3600
    )::integer,
    -1
  ) as "hour",
  coalesce("delivery"."message_agent_id", "delivery"."agent_id") as "runner_of",
  "delivery"."held_at" is not null as "is_held",
  cast(count(*) as integer) as "count",
  min("delivery"."received_at") as "oldest_at"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."tenant_id" = $2
  and (
    "delivery"."unsettled" is not null
    or "delivery"."held_at" is not null
  )
group by
  "hour",
  "runner_of",
  "is_held";

-- openCounts: of some agents
select
  greatest(
    floor(
      extract(
        epoch
        from
          "delivery"."received_at" - $1::timestamptz
      )::float8 / 3600
    )::integer,
    -1
  ) as "hour",
  coalesce("delivery"."message_agent_id", "delivery"."agent_id") as "runner_of",
  "delivery"."held_at" is not null as "is_held",
  cast(count(*) as integer) as "count",
  min("delivery"."received_at") as "oldest_at"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."tenant_id" = $2
  and "delivery"."agent_id" = any ($3)
  and (
    "delivery"."unsettled" is not null
    or "delivery"."held_at" is not null
  )
group by
  "hour",
  "runner_of",
  "is_held";

-- openMessages: of some deliveries
select
  "delivery"."id",
  "delivery"."message_agent_id",
  "delivery"."unsettled",
  "delivery"."retry_at"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."tenant_id" = $1
  and "delivery"."id" = any ($2);

-- openQueuesOfAllTenants: call
select
  "queue"."tenant_id",
  "queue"."agent_id",
  "queue"."count",
  coalesce(
    (
      select
        (step ->> 'at')::timestamptz
      from
        jsonb_array_elements("first"."doc"::jsonb -> 'causation') as step
      where
        step ->> 'event_id' = "first"."message_id"
      limit
        1
    ),
    "first"."received_at"
  ) as "since"
from
  (
    select
      "open"."tenant_id",
      "open"."agent_id",
      cast(count(*) as integer) as "count",
      min("open"."unsettled") as "first"
    from
      (
        select
          "delivery"."tenant_id",
          "delivery"."message_agent_id" as "agent_id",
          "delivery"."unsettled"
        from
          "deliveries"."deliveries" as "delivery"
        where
          "delivery"."unsettled" is not null
          and (
            not exists (
              select
              from
                tenants.tenants as tenant
              where
                tenant.id = delivery.tenant_id
                and (
                  tenant.is_suspended
                  or tenant.closing
                  or tenant.closed
                )
            )
            and not exists (
              select
              from
                agents.agents as agent
              where
                agent.tenant_id = delivery.tenant_id
                and agent.id = "delivery"."message_agent_id"
                and agent.deleted
            )
          )
        order by
          "delivery"."unsettled"
        limit
          20000
      ) as "open"
    group by
      "open"."tenant_id",
      "open"."agent_id"
    order by
      min("open"."unsettled")
    limit
      101
  ) as "queue"
  inner join "deliveries"."deliveries" as "first" on "first"."tenant_id" = "queue"."tenant_id"
  and "first"."unsettled" = "queue"."first"
order by
  "queue"."first";

-- overlappingSecrets: call
select
  "integration"."id",
  "integration"."label",
  "integration"."doc",
  "integration"."previous_secret_valid_until" as "until"
from
  "integrations"."integrations" as "integration"
where
  "integration"."tenant_id" = $1
  and "integration"."disconnected" is not true
  and "integration"."previous_secret_valid_until" > $2
order by
  "until",
  "integration"."id"
limit
  20;

-- placeAtTime: first after a time
select
  "entry"."place"
from
  "audit"."audit_logs" as "entry"
where
  "entry"."tenant_id" = $1
  and "entry"."created_at" >= $2
order by
  "entry"."created_at" asc,
  "entry"."place" asc
limit
  1;

-- placeAtTime: last before a time
select
  "entry"."place"
from
  "audit"."audit_logs" as "entry"
where
  "entry"."tenant_id" = $1
  and "entry"."created_at" <= $2
order by
  "entry"."created_at" desc,
  "entry"."place" desc
limit
  1;

-- planPage: first page
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "plan"."doc" as "doc",
      "plan"."created_at" as "value",
      "plan"."id" as "id"
    from
      "plans"."plans" as "plan"
    order by
      "plan"."created_at" desc,
      "plan"."id" desc
    limit
      51
  ) as "page";

-- planWithPrice: call
select
  "plan"."id"
from
  "plans"."plans" as "plan"
where
  "plan"."price_id" = $1
order by
  "plan"."created_at",
  "plan"."id"
limit
  1;

-- positionAt: of a tenant
select
  "entry"."doc"
from
  "audit"."audit_logs" as "entry"
where
  "entry"."tenant_id" = $1
  and "entry"."created_at" <= $2
order by
  "entry"."created_at" desc,
  "entry"."place" desc
limit
  1;

-- positionAt: of the platform
select
  "entry"."doc"
from
  "audit"."platform_audit_logs" as "entry"
where
  "entry"."created_at" <= $1
order by
  "entry"."created_at" desc,
  "entry"."place" desc
limit
  1;

-- positionOfEvent: call
select
  wanted.at::integer as at,
  found.value,
  found.revision
from
  unnest($1::text[]) with ordinality as wanted ("id", at)
  cross join lateral (
    select
      stored."doc" as value,
      stored.revision
    from
      "audit"."audit_logs" stored
    where
      stored."id" = wanted."id"
    limit
      1
  ) found;

-- positionOfTenantEvent: call
select
  "entry"."place"
from
  "audit"."audit_logs" as "entry"
where
  "entry"."id" = $1
  and "entry"."tenant_id" = $2;

-- positionsOf: of any type
select
  "entry"."place"
from
  "audit"."audit_logs" as "entry"
where
  "entry"."tenant_id" = $1
  and "entry"."place" >= $2
  and "entry"."place" <= $3
order by
  "entry"."place" asc
limit
  $4;

-- positionsOf: of a request
select
  "entry"."place"
from
  "audit"."audit_logs" as "entry"
where
  "entry"."tenant_id" = $1
  and "entry"."place" >= $2
  and "entry"."place" <= $3
  and "entry"."request_id" = $4
order by
  "entry"."place" asc
limit
  $5;

-- primaryModelsOf: call
select
  "agent"."id",
  "agent"."models"
from
  "agents"."agents" as "agent"
where
  "agent"."tenant_id" = $1
  and "agent"."id" = any ($2);

-- problemTrends: call
select
  "keyed"."outcome",
  "keyed"."why",
  "keyed"."rule",
  "keyed"."problem",
  "keyed"."where",
  floor(
    extract(
      epoch
      from
        $1::timestamptz - keyed.received_at
    ) / 3600
  )::integer as "hour",
  count(*) as "count"
from
  (
    select
      "delivery"."id",
      "delivery"."outcome",
      "delivery"."reason",
      "delivery"."agent_id",
      "delivery"."integration_id",
      "delivery"."received_at",
      case
        when delivery.outcome = 'blocked' then delivery.rule
      end as "rule",
      case
        when delivery.outcome = 'dead' then delivery.problem
      end as "problem",
      case
        when delivery.outcome = 'dead' then delivery.agent_id
        else delivery.integration_id
      end as "where",
      case
        when delivery.outcome = 'dead'
        and delivery.problem is not null then null
        else delivery.reason
      end as "why"
    from
      "deliveries"."deliveries" as "delivery"
    where
      "delivery"."tenant_id" = $2
      and "delivery"."received_at" >= $3
      and "delivery"."received_at" < $4
      and "delivery"."outcome" in ($5, $6, $7)
  ) as "keyed"
group by
  "keyed"."outcome",
  "keyed"."why",
  "keyed"."rule",
  "keyed"."problem",
  "keyed"."where",
  "hour";

-- publishedThroughAt: call
select
  "publication"."place"
from
  "deliveries"."publications" as "publication"
where
  "publication"."published_at" <= $1
order by
  "publication"."recorded" desc
limit
  1;

-- queueByAgent: call
select
  coalesce("delivery"."message_agent_id", "delivery"."agent_id") as "runner_of",
  cast(count(*) as integer) as "count"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."tenant_id" = $1
  and (
    "delivery"."unsettled" is not null
    or "delivery"."held_at" is not null
  )
group by
  "runner_of";

-- receivedByAgent: call
select
  "delivery"."agent_id",
  cast(count(*) as integer) as "deliveries",
  max("delivery"."received_at") as "last_at"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."tenant_id" = $1
  and "delivery"."received_at" >= $2
group by
  "delivery"."agent_id";

-- recordedCounts: of some jobs
select
  "run"."job_id",
  "run"."decision",
  "run"."reason",
  width_bucket(run.due_at, $1::timestamptz[]) - 1 as "day",
  cast(count(*) as integer) as "runs",
  (
    array_agg(
      extract(
        epoch
        from
          run.due_at
      )::float8 * 1000
      order by
        run.due_at
    )
  ) [1:3] as "first",
  (
    array_agg(
      extract(
        epoch
        from
          run.due_at
      )::float8 * 1000
      order by
        run.due_at,
        run.id
    ) filter (
      where
        run.due_at >= job.next_fire_at
    )
  ) [1:$2::integer] as "ahead",
  (
    array_agg(
      run.id
      order by
        run.due_at,
        run.id
    ) filter (
      where
        run.due_at >= job.next_fire_at
    )
  ) [1:$3::integer] as "ahead_ids"
from
  (
    select
      "one"."id",
      "one"."job_id",
      "one"."decision",
      "one"."reason",
      "one"."due_at"
    from
      "cron_jobs"."runs" as "one"
    where
      "one"."tenant_id" = $4
      and "one"."job_id" = any ($5)
      and "one"."due_at" >= $6
      and "one"."due_at" < $7
    limit
      $8
  ) as "run"
  inner join unnest($9::text[], $10::timestamptz[]) as job (id, next_fire_at) on "job"."id" = "run"."job_id"
group by
  "run"."job_id",
  "run"."decision",
  "run"."reason",
  "day";

-- recordedOccurrences: of the tenant
select
  "run"."doc",
  "run"."id",
  "run"."due_at",
  "run"."job_id",
  "job"."agent_id",
  "job"."name",
  "job"."status"
from
  "cron_jobs"."runs" as "run"
  inner join "cron_jobs"."jobs" as "job" on "job"."tenant_id" = "run"."tenant_id"
  and "job"."id" = "run"."job_id"
where
  "run"."tenant_id" = $1
  and "run"."due_at" >= $2
  and "run"."due_at" < $3
order by
  "run"."due_at",
  "run"."id"
limit
  1001;

-- rememberedAfter: newest
select
  "entry"."id",
  "entry"."sha256",
  "entry"."session_id",
  "entry"."created_by_id",
  "entry"."runner_key_id",
  "entry"."created_at"
from
  "memory"."remembered" as "entry"
where
  "entry"."tenant_id" = $1
  and "entry"."agent_id" = $2
order by
  "entry"."created_at" desc,
  "entry"."id" desc
limit
  25;

-- rememberedAfter: next
select
  "entry"."id",
  "entry"."sha256",
  "entry"."session_id",
  "entry"."created_by_id",
  "entry"."runner_key_id",
  "entry"."created_at"
from
  "memory"."remembered" as "entry"
where
  "entry"."tenant_id" = $1
  and "entry"."agent_id" = $2
  and ("entry"."created_at", "entry"."id") < ($3, $4)
order by
  "entry"."created_at" desc,
  "entry"."id" desc
limit
  25;

-- rememberedEntry: call
select
  "entry"."id",
  "entry"."sha256",
  "entry"."session_id",
  "entry"."created_by_id",
  "entry"."runner_key_id",
  "entry"."created_at"
from
  "memory"."remembered" as "entry"
where
  "entry"."tenant_id" = $1
  and "entry"."id" = $2
  and "entry"."agent_id" = $3;

-- replayableIds: of an integration
select
  "delivery"."id"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."tenant_id" = $1
  and "delivery"."integration_id" = $2
  and "delivery"."received_at" >= $3
  and "delivery"."received_at" < $4
  and (
    delivery.held_at is null
    and delivery.reason is distinct from 'held_too_long'
  )
  and "delivery"."outcome" in ($5, $6)
order by
  "delivery"."received_at",
  "delivery"."id"
limit
  $7;

-- replayableIds: with every filter
select
  "delivery"."id"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."tenant_id" = $1
  and "delivery"."integration_id" = $2
  and "delivery"."received_at" >= $3
  and "delivery"."received_at" < $4
  and (
    delivery.held_at is null
    and delivery.reason is distinct from 'held_too_long'
  )
  and "delivery"."outcome" = $5
  and "delivery"."event" = $6
  and "delivery"."id" = any ($7)
order by
  "delivery"."received_at",
  "delivery"."id"
limit
  $8;

-- replayableOfTenantIds: of a tenant
select
  "delivery"."id"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."tenant_id" = $1
  and "delivery"."outcome" in ($2, $3)
  and (
    delivery.held_at is null
    and delivery.reason is distinct from 'held_too_long'
  )
order by
  "delivery"."received_at",
  "delivery"."id"
limit
  $4;

-- replayableOfTenantIds: of some agents, not published
select
  "delivery"."id"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."tenant_id" = $1
  and "delivery"."agent_id" = any ($2)
  and "delivery"."unsettled" > coalesce(
    (
      select
        "publication"."place"
      from
        "deliveries"."publications" as "publication"
      order by
        "publication"."recorded" desc
      limit
        1
    ),
    $3
  )
  and "delivery"."outcome" in ($4, $5)
  and (
    delivery.held_at is null
    and delivery.reason is distinct from 'held_too_long'
  )
order by
  "delivery"."received_at",
  "delivery"."id"
limit
  $6;

-- runFilesWithDigest: call
select distinct
  on ("file"."agent_id") "file"."agent_id",
  "file"."name"
from
  "benchmark_runs"."files" as "file"
where
  "file"."tenant_id" = $1
  and "file"."sha256" = $2
order by
  "file"."agent_id"
limit
  200;

-- runnerCredentialPage: first page
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "credential"."doc" as "doc",
      "credential"."created_at" as "value",
      "credential"."id" as "id"
    from
      "runner_credentials"."runner_credentials" as "credential"
    where
      "credential"."tenant_id" = $2
      and "credential"."agent_id" = $3
    order by
      "credential"."created_at" desc,
      "credential"."id" desc
    limit
      51
  ) as "page";

-- runningImports: call
select
  "import"."tenant_id",
  "import"."id"
from
  "memory"."imports" as "import"
where
  "import"."running_since" <= $1
order by
  "import"."running_since",
  "import"."id"
limit
  20;

-- runningJobs: call
select
  "job"."tenant_id",
  "job"."id"
from
  "replays"."jobs" as "job"
where
  "job"."running_since" <= $1
order by
  "job"."running_since",
  "job"."id"
limit
  50;

-- runsToAdvance: call
select
  "run"."tenant_id",
  "run"."id",
  "delivery"."status"
from
  "benchmark_runs"."runs" as "run"
  left join "deliveries"."deliveries" as "delivery" on "delivery"."tenant_id" = "run"."tenant_id"
  and "delivery"."id" = "run"."id"
where
  "run"."open_since" is not null
  and (
    "delivery"."id" is null
    or "delivery"."status" = $1
    or "delivery"."status" = $2
    or "run"."expires_at" <= $3
  )
order by
  "run"."open_since",
  "run"."id"
limit
  500;

-- sessionCountsSince: call
select
  "session"."status",
  cast(count(*) as integer) as "count"
from
  "sessions"."sessions" as "session"
where
  "session"."tenant_id" = $1
  and "session"."created_at" >= $2
group by
  "session"."status";

-- sessionPage: first page
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "session"."doc" as "doc",
      "session"."created_at" as "value",
      "session"."id" as "id"
    from
      "sessions"."sessions" as "session"
    where
      "session"."tenant_id" = $2
      and "session"."agent_id" = $3
    order by
      "session"."created_at" desc,
      "session"."id" desc
    limit
      51
  ) as "page";

-- sessionPage: with a status
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "session"."doc" as "doc",
      "session"."created_at" as "value",
      "session"."id" as "id"
    from
      "sessions"."sessions" as "session"
    where
      "session"."tenant_id" = $2
      and "session"."agent_id" = $3
      and "session"."status" = $4
    order by
      "session"."created_at" desc,
      "session"."id" desc
    limit
      51
  ) as "page";

-- sessionsDueAt: call
select
  "session"."tenant_id",
  "session"."id"
from
  "sessions"."sessions" as "session"
where
  "session"."until" <= $1
order by
  "session"."until"
limit
  200;

-- sessionsOfDelivery: call
select
  "session"."id"
from
  "sessions"."sessions" as "session"
where
  "session"."tenant_id" = $1
  and "session"."delivery_id" = $2
limit
  100;

-- sessionsOnPage: first page
select
  "session"."doc"
from
  "sessions"."sessions" as "session"
where
  "session"."tenant_id" = $1
order by
  "session"."created_at" desc,
  "session"."id" desc
limit
  $2
offset
  $3;

-- sessionsOnPage: by from and to
select
  "session"."doc"
from
  "sessions"."sessions" as "session"
where
  "session"."tenant_id" = $1
  and "session"."created_at" >= $2
  and "session"."created_at" < $3
order by
  "session"."created_at" desc,
  "session"."id" desc
limit
  $4
offset
  $5;

-- settledAmong: call
select
  "message"."event_id",
  "message"."outcome"
from
  "sessions"."settled_messages" as "message"
where
  "message"."tenant_id" = $1
  and "message"."event_id" = any ($2)
  and "message"."agent_id" = $3
limit
  100;

-- settledRunsOf: call
select
  "run"."tenant_id",
  "run"."id",
  "run"."job_id",
  "run"."settled_message",
  "run"."settled_outcome",
  "run"."settled_at",
  "run"."settled_published_at"
from
  "cron_jobs"."runs" as "run"
where
  "run"."settled_at" is not null
order by
  "run"."settled_at"
limit
  500;

-- signInPage: first page
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "signin"."doc" as "doc",
      "signin"."created_at" as "value",
      "signin"."id" as "id"
    from
      "sign_ins"."sign_ins" as "signin"
    where
      "signin"."user_id" = $2
      and "signin"."expires_at" > $3
    order by
      "signin"."created_at" desc,
      "signin"."id" desc
    limit
      51
  ) as "page";

-- signInPage: by an API key
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "signin"."doc" as "doc",
      "signin"."created_at" as "value",
      "signin"."id" as "id"
    from
      "sign_ins"."sign_ins" as "signin"
    where
      "signin"."user_id" = $2
      and "signin"."expires_at" > $3
      and "signin"."key_id" = $4
    order by
      "signin"."created_at" desc,
      "signin"."id" desc
    limit
      51
  ) as "page";

-- silentIntegrations: call
select
  "integration"."id",
  "integration"."label",
  "integration"."last_delivery_at" as "since"
from
  "integrations"."integrations" as "integration"
where
  "integration"."tenant_id" = $1
  and "integration"."disconnected" is not true
  and "integration"."is_paused" = $2
  and "integration"."last_delivery_at" >= $3
  and "integration"."last_delivery_at" < $4
  and (
    select
      "delivery"."received_at"
    from
      "deliveries"."deliveries" as "delivery"
    where
      "delivery"."tenant_id" = "integration"."tenant_id"
      and "delivery"."integration_id" = "integration"."id"
      and "delivery"."outcome" <> $5
    order by
      "delivery"."received_at" desc,
      "delivery"."id" desc
    limit
      1
    offset
      19
  ) >= "integration"."last_delivery_at" - make_interval(0, 0, 1)
order by
  "since",
  "integration"."id"
limit
  20;

-- skillById: call
select
  wanted.at::integer as at,
  found.value,
  found.revision
from
  unnest($1::text[], $2::text[]) with ordinality as wanted ("tenant_id", "id", at)
  cross join lateral (
    select
      stored."doc" as value,
      stored.revision
    from
      "skills"."skills" stored
    where
      stored."tenant_id" = wanted."tenant_id"
      and stored."id" = wanted."id"
      and stored."deleted" is not true
    limit
      1
  ) found;

-- skillCount: call
select
  wanted.at::integer as at,
  found.value,
  found.revision
from
  unnest($1::text[]) with ordinality as wanted ("tenant_id", at)
  cross join lateral (
    select
      stored."skills" as value,
      stored.revision
    from
      "skills"."skill_counts" stored
    where
      stored."tenant_id" = wanted."tenant_id"
    limit
      1
  ) found;

-- skillPage: first page
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "skill"."doc" as "doc",
      "skill"."created_at" as "value",
      "skill"."id" as "id"
    from
      "skills"."skills" as "skill"
    where
      "skill"."tenant_id" = $2
      and "skill"."deleted" is not true
    order by
      "skill"."created_at" desc,
      "skill"."id" desc
    limit
      51
  ) as "page";

-- skillPage: of a visibility
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "skill"."doc" as "doc",
      "skill"."created_at" as "value",
      "skill"."id" as "id"
    from
      "skills"."skills" as "skill"
    where
      "skill"."tenant_id" = $2
      and "skill"."visibility" = $3
      and "skill"."deleted" is not true
    order by
      "skill"."created_at" desc,
      "skill"."id" desc
    limit
      51
  ) as "page";

-- skillsWithPackage: call
select
  "skill"."slug",
  "skill"."visibility"
from
  "skills"."skills" as "skill"
where
  "skill"."tenant_id" = $1
  and "skill"."package_digest" = $2
  and "skill"."deleted" is not true
limit
  200;

-- stoppedDeliveries: call
select
  wanted.at::integer as at,
  found.value,
  found.revision
from
  unnest($1::text[], $2::text[]) with ordinality as wanted ("tenant_id", "id", at)
  cross join lateral (
    select
      stored."doc" as value,
      stored.revision
    from
      "deliveries"."deliveries" stored
    where
      stored."tenant_id" = wanted."tenant_id"
      and stored."id" = wanted."id"
    limit
      1
  ) found;

-- tenantNames: call
select
  "tenant"."id",
  "tenant"."name"
from
  "tenants"."tenants" as "tenant"
where
  "tenant"."id" = any ($1);

-- tenantPage: first page
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "tenant"."doc" as "doc",
      "tenant"."created_at" as "value",
      "tenant"."id" as "id"
    from
      "tenants"."tenants" as "tenant"
    order by
      "tenant"."created_at" desc,
      "tenant"."id" desc
    limit
      51
  ) as "page";

-- tenantPage: with a part of the name
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "tenant"."doc" as "doc",
      "tenant"."created_at" as "value",
      "tenant"."id" as "id"
    from
      "tenants"."tenants" as "tenant"
    where
      "tenant"."search" ilike $2
    order by
      "tenant"."created_at" desc,
      "tenant"."id" desc
    limit
      51
  ) as "page";

-- tenantSessionPage: first page
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "session"."doc" as "doc",
      "session"."created_at" as "value",
      "session"."id" as "id"
    from
      "sessions"."sessions" as "session"
    where
      "session"."tenant_id" = $2
    order by
      "session"."created_at" desc,
      "session"."id" desc
    limit
      51
  ) as "page";

-- tenantSessionPage: of an agent and a user
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "session"."doc" as "doc",
      "session"."created_at" as "value",
      "session"."id" as "id"
    from
      "sessions"."sessions" as "session"
    where
      "session"."tenant_id" = $2
      and "session"."agent_id" = $3
      and "session"."shown_user_id" = $4
    order by
      "session"."created_at" desc,
      "session"."id" desc
    limit
      51
  ) as "page";

-- tenantsDueAt: call
select
  "tenant"."id"
from
  "tenants"."tenants" as "tenant"
where
  "tenant"."closes_at" <= $1
order by
  "tenant"."closes_at"
limit
  200;

-- tenantsWithUnsignedEntries: call
select
  "entries"."tenant_id",
  "entries"."lines",
  "last"."size",
  "last"."at"
from
  (
    select
      "counted"."tenant_id",
      "counted"."lines"
    from
      "audit"."audit_counts" as "counted"
    where
      "counted"."tenant_id" > $1
    order by
      "counted"."tenant_id"
    limit
      500
  ) as "entries"
  left join lateral (
    select
      "head"."size",
      "head"."at"
    from
      "auditheads"."heads" as "head"
    where
      "head"."tenant_id" = "entries"."tenant_id"
      and "head"."version" = $2
    order by
      "head"."size" desc
    limit
      1
  ) as "last" on true
order by
  "entries"."tenant_id";

-- toolPage: first page
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "tool"."doc" as "doc",
      "tool"."created_at" as "value",
      "tool"."id" as "id"
    from
      "tools"."tools" as "tool"
    where
      "tool"."tenant_id" = $2
      and "tool"."deleted" is not true
    order by
      "tool"."created_at" desc,
      "tool"."id" desc
    limit
      51
  ) as "page";

-- triedDeliveries: of an integration
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 41734
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 41734
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [200] as "value",
  (array_agg("page"."id")) [200] as "id"
from
  (
    select
      "delivery"."list_doc" as "doc",
      "delivery"."received_at" as "value",
      "delivery"."id" as "id"
    from
      "deliveries"."deliveries" as "delivery"
    where
      "delivery"."tenant_id" = $2
      and "delivery"."integration_id" = $3
      and "delivery"."outcome" != $4
      and "delivery"."received_at" >= $5
      and "delivery"."received_at" < $6
    order by
      "delivery"."received_at" desc,
      "delivery"."id" desc
    limit
      201
  ) as "page";

-- triedDeliveries: of a tenant
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 41734
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 41734
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [200] as "value",
  (array_agg("page"."id")) [200] as "id"
from
  (
    select
      "delivery"."list_doc" as "doc",
      "delivery"."received_at" as "value",
      "delivery"."id" as "id"
    from
      "deliveries"."deliveries" as "delivery"
    where
      "delivery"."tenant_id" = $2
      and "delivery"."outcome" != $3
      and "delivery"."received_at" >= $4
      and "delivery"."received_at" < $5
    order by
      "delivery"."received_at" desc,
      "delivery"."id" desc
    limit
      201
  ) as "page";

-- unexpiredKeys: call
select
  "credential"."public_key",
  "credential"."created_at"
from
  "runner_credentials"."runner_credentials" as "credential"
where
  "credential"."tenant_id" = $1
  and "credential"."agent_id" = $2
  and "credential"."expires_at" > $3
order by
  "credential"."created_at" desc,
  "credential"."id" desc
limit
  200;

-- unexpiredKeysOf: call
select
  "newest"."agent_id",
  "newest"."public_key"
from
  unnest($1::text[]) as agent (id)
  inner join lateral (
    select
      "credential"."agent_id",
      "credential"."public_key"
    from
      "runner_credentials"."runner_credentials" as "credential"
    where
      "credential"."tenant_id" = $2
      and "credential"."agent_id" = "agent"."id"
      and "credential"."expires_at" > $3
    order by
      "credential"."created_at" desc,
      "credential"."id" desc
    limit
      200
  ) as "newest" on true;

-- unsettledCounts: call
select
  "delivery"."tenant_id",
  "delivery"."message_agent_id" as "agent_id",
  cast(count(*) as integer) as "count",
  cast(
    count(*) filter (
      where
        "delivery"."unsettled" <= $1
    ) as integer
  ) as "due"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."unsettled" is not null
  and "delivery"."received_at" >= $2
group by
  "delivery"."tenant_id",
  "delivery"."message_agent_id";

-- unsettledMessages: call
select
  "delivery"."id",
  "delivery"."message_id",
  "delivery"."unsettled" as "place"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."tenant_id" = $1
  and "delivery"."message_agent_id" = $2
  and "delivery"."unsettled" > $3
  and "delivery"."unsettled" <= $4
  and "delivery"."received_at" >= $5
order by
  "delivery"."unsettled"
limit
  1000;

-- unsettledSessionCounts: call
select
  "message"."tenant_id",
  "message"."agent_id",
  cast(count(*) as integer) as "count",
  cast(
    count(*) filter (
      where
        "message"."place" <= $1
    ) as integer
  ) as "due"
from
  "sessions"."unsettled_messages" as "message"
where
  "message"."sent_at" >= $2
group by
  "message"."tenant_id",
  "message"."agent_id";

-- unsettledSessionMessages: call
select
  "message"."session_id",
  "message"."event_id",
  "message"."event_revision",
  "message"."message_id",
  "message"."place"
from
  "sessions"."unsettled_messages" as "message"
where
  "message"."tenant_id" = $1
  and "message"."agent_id" = $2
  and "message"."place" > $3
  and "message"."place" <= $4
  and "message"."sent_at" >= $5
order by
  "message"."place"
limit
  1000;

-- usageByDay: call
select
  "usage"."day",
  "usage"."model_id",
  cast(sum("usage"."requests") as double precision) as "requests",
  cast(sum("usage"."prompt_tokens") as double precision) as "input_tokens",
  cast(sum("usage"."completion_tokens") as double precision) as "output_tokens",
  cast(sum("usage"."cost_micros") as double precision) as "cost_micros"
from
  "costs"."days" as "usage"
where
  "usage"."tenant_id" = $1
  and "usage"."day" >= $2
  and "usage"."day" < $3
group by
  "usage"."day",
  "usage"."model_id";

-- usageOfDays: call
select
  "usage"."agent_id",
  "usage"."model_id",
  "usage"."cause_kind",
  "usage"."cause_id",
  cast(sum("usage"."requests") as double precision) as "requests",
  cast(sum("usage"."prompt_tokens") as double precision) as "input_tokens",
  cast(sum("usage"."completion_tokens") as double precision) as "output_tokens",
  cast(sum("usage"."cost_micros") as double precision) as "cost_micros"
from
  "costs"."days" as "usage"
where
  "usage"."tenant_id" = $1
  and "usage"."day" >= $2
  and "usage"."day" < $3
group by
  "usage"."agent_id",
  "usage"."model_id",
  "usage"."cause_kind",
  "usage"."cause_id";

-- usageOfMessages: call
select
  "message"."agent_id",
  "message"."model_id",
  "message"."cause_kind",
  "message"."cause_id",
  cast(count(*) as double precision) as "requests",
  cast(sum("message"."prompt_tokens") as double precision) as "input_tokens",
  cast(sum("message"."completion_tokens") as double precision) as "output_tokens",
  cast(sum("message"."cost_micros") as double precision) as "cost_micros"
from
  "costs"."messages" as "message"
where
  "message"."tenant_id" = $1
  and "message"."at" >= $2
  and "message"."at" < $3
group by
  "message"."agent_id",
  "message"."model_id",
  "message"."cause_kind",
  "message"."cause_id";

-- usageSince: call
select
  cast(coalesce(sum("usage"."requests"), 0) as double precision) as "requests",
  cast(coalesce(sum("usage"."prompt_tokens"), 0) as double precision) as "input_tokens",
  cast(coalesce(sum("usage"."completion_tokens"), 0) as double precision) as "output_tokens",
  cast(coalesce(sum("usage"."cost_micros"), 0) as double precision) as "cost_micros"
from
  "costs"."days" as "usage"
where
  "usage"."tenant_id" = $1
  and "usage"."day" >= $2;

-- userPage: first page
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "user"."doc" as "doc",
      "user"."created_at" as "value",
      "user"."id" as "id"
    from
      "users"."users" as "user"
    order by
      "user"."created_at" desc,
      "user"."id" desc
    limit
      51
  ) as "page";

-- userPage: with a part of the name
select
  string_agg("page"."doc", $1) filter (
    where
      octet_length("page"."doc") <= 164482
  ) as "body",
  cast(count(*) as integer) as "found",
  cast(
    count(*) filter (
      where
        octet_length("page"."doc") <= 164482
    ) as integer
  ) as "held",
  (array_agg("page"."value")) [50] as "value",
  (array_agg("page"."id")) [50] as "id"
from
  (
    select
      "user"."doc" as "doc",
      "user"."created_at" as "value",
      "user"."id" as "id"
    from
      "users"."users" as "user"
    where
      "user"."search" ilike $2
    order by
      "user"."created_at" desc,
      "user"."id" desc
    limit
      51
  ) as "page";

-- visibilityOf: call
select
  wanted.at::integer as at,
  found.value,
  found.revision
from
  unnest($1::text[], $2::text[]) with ordinality as wanted ("tenant_id", "id", at)
  cross join lateral (
    select
      stored."doc" as value,
      stored.revision
    from
      "skills"."skills" stored
    where
      stored."tenant_id" = wanted."tenant_id"
      and stored."id" = wanted."id"
      and stored."deleted" is not true
    limit
      1
  ) found;

-- withDeliveryNames: of some deliveries
select
  "agent"."id",
  "agent"."name"
from
  "agents"."agents" as "agent"
where
  "agent"."tenant_id" = $1
  and "agent"."id" = any ($2)
union all
select
  "integration"."id",
  "integration"."label" as "name"
from
  "integrations"."integrations" as "integration"
where
  "integration"."tenant_id" = $3
  and "integration"."id" = any ($4)
union all
select
  "job"."id",
  "job"."name"
from
  "cron_jobs"."jobs" as "job"
where
  "job"."tenant_id" = $5
  and "job"."id" = any ($6)
union all
select
  "skill"."id",
  "skill"."name"
from
  "skills"."skills" as "skill"
where
  "skill"."tenant_id" = $7
  and "skill"."id" = any ($8);

-- withReplayMark: call
select
  "delivery"."id"
from
  "deliveries"."deliveries" as "delivery"
where
  "delivery"."tenant_id" = $1
  and "delivery"."integration_id" = $2
  and "delivery"."sha256" = $3
  and "delivery"."received_at" >= $4
  and "delivery"."received_at" <= $5
order by
  "delivery"."received_at",
  "delivery"."id"
limit
  1;
