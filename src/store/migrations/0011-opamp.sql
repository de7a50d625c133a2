-- The sweep over open offers that still wait to be sent, and the newest connection events of one agent.
create index offers_unsent on offers (recipient) where closed_at is null and sent_at is null;
create index agent_connections_by_agent on agent_connections (uid, at desc);
create index agents_connected on agents (last_seen_at) where connected;
