-- The tables of a state file. Each part makes those of its version from those of the one before.
-- version 6: the oldest that can be read
CREATE TABLE world (
  id INTEGER PRIMARY KEY CHECK (id = 1), now REAL NOT NULL, seed TEXT NOT NULL,
  settings TEXT NOT NULL);
INSERT INTO world VALUES (1, 0, '0', '{}');
CREATE TABLE workspaces (
  id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, subscription TEXT NOT NULL,
  resource_group TEXT NOT NULL, name TEXT NOT NULL, location TEXT NOT NULL);
CREATE TABLE resources (
  id INTEGER PRIMARY KEY, workspace INTEGER NOT NULL REFERENCES workspaces, key TEXT NOT NULL,
  kind TEXT NOT NULL, collection TEXT NOT NULL, name TEXT NOT NULL, parent TEXT, version TEXT,
  region TEXT, state TEXT NOT NULL, operation INTEGER, body TEXT NOT NULL);
CREATE UNIQUE INDEX resources_by_key ON resources (key, workspace);
CREATE INDEX resources_by_operation ON resources (operation) WHERE operation IS NOT NULL;
CREATE INDEX resources_by_name
  ON resources (workspace, kind, collection, lower(name), id);
CREATE TABLE resource_references (
  resource INTEGER NOT NULL REFERENCES resources ON DELETE CASCADE, key TEXT NOT NULL,
  PRIMARY KEY (resource, key)) WITHOUT ROWID;
CREATE INDEX resource_references_by_key ON resource_references (key);
CREATE TABLE quota_claims (
  resource INTEGER NOT NULL REFERENCES resources ON DELETE CASCADE, subscription TEXT NOT NULL,
  region TEXT NOT NULL, quota TEXT NOT NULL, amount INTEGER NOT NULL,
  PRIMARY KEY (resource, quota)) WITHOUT ROWID;
CREATE TABLE quota_usage (
  subscription TEXT NOT NULL, region TEXT NOT NULL, quota TEXT NOT NULL, amount INTEGER NOT NULL,
  PRIMARY KEY (subscription, region, quota)) WITHOUT ROWID;
CREATE TRIGGER quota_claimed AFTER INSERT ON quota_claims BEGIN
  INSERT INTO quota_usage VALUES (new.subscription, new.region, new.quota, new.amount)
    ON CONFLICT DO UPDATE SET amount = amount + excluded.amount;
END;
CREATE TRIGGER quota_released AFTER DELETE ON quota_claims BEGIN
  UPDATE quota_usage SET amount = amount - old.amount
    WHERE subscription = old.subscription AND region = old.region AND quota = old.quota;
END;
CREATE TABLE quota_limits (
  subscription TEXT NOT NULL, region TEXT NOT NULL, quota TEXT NOT NULL, amount INTEGER NOT NULL,
  PRIMARY KEY (subscription, region, quota)) WITHOUT ROWID;
CREATE TABLE operations (
  id INTEGER PRIMARY KEY, address TEXT NOT NULL, verb TEXT NOT NULL, started REAL NOT NULL,
  due REAL NOT NULL, status TEXT NOT NULL, code TEXT NOT NULL, message TEXT NOT NULL);
CREATE INDEX operations_running ON operations (due) WHERE status = 'InProgress';
CREATE TABLE faults (id INTEGER PRIMARY KEY, spec TEXT NOT NULL, seen INTEGER NOT NULL);
CREATE TABLE commands (id INTEGER PRIMARY KEY, at REAL NOT NULL, command TEXT NOT NULL);
CREATE INDEX commands_by_time ON commands (at, id);
CREATE TABLE engine (
  id INTEGER PRIMARY KEY CHECK (id = 1), generation INTEGER NOT NULL, active INTEGER NOT NULL,
  now REAL NOT NULL, last_at REAL NOT NULL, last_command INTEGER NOT NULL, state TEXT NOT NULL);
INSERT INTO engine VALUES (1, 0, 0, 0, 0, 0, '');
CREATE TABLE jobs (
  id INTEGER PRIMARY KEY, workspace INTEGER NOT NULL REFERENCES workspaces, key TEXT NOT NULL,
  name TEXT NOT NULL, kind TEXT NOT NULL, endpoint TEXT, deployment TEXT, created REAL NOT NULL,
  note TEXT NOT NULL, parent TEXT);
CREATE UNIQUE INDEX jobs_by_key ON jobs (key, workspace);
CREATE INDEX jobs_by_deployment ON jobs (workspace, endpoint, deployment);
CREATE INDEX jobs_by_parent ON jobs (workspace, parent);
CREATE INDEX jobs_by_reuse_key ON jobs (workspace, json_extract(note, '$.reuseKey'));
CREATE TABLE workloads (name TEXT PRIMARY KEY, spec TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE locks (
  key TEXT PRIMARY KEY, scope TEXT NOT NULL, name TEXT NOT NULL, level TEXT NOT NULL,
  notes TEXT NOT NULL) WITHOUT ROWID;
-- version 7
CREATE TABLE activity (
  id INTEGER PRIMARY KEY, key TEXT NOT NULL, resource TEXT NOT NULL, at REAL NOT NULL,
  verb TEXT NOT NULL, caller TEXT NOT NULL);
CREATE INDEX activity_by_key ON activity (key, id);
CREATE INDEX activity_by_time ON activity (at);
-- version 8
CREATE TABLE ended_jobs (
  name TEXT PRIMARY KEY, event INTEGER NOT NULL, state TEXT NOT NULL) WITHOUT ROWID;
-- version 9
CREATE TABLE leases (
  workspace TEXT NOT NULL, project TEXT NOT NULL, token INTEGER NOT NULL, id TEXT NOT NULL,
  holder TEXT NOT NULL, since REAL NOT NULL, renewed REAL NOT NULL, duration REAL NOT NULL,
  PRIMARY KEY (workspace, project)) WITHOUT ROWID;
-- version 10
ALTER TABLE resources ADD COLUMN last_operation INTEGER;
-- version 11
CREATE TABLE journals (
  id INTEGER PRIMARY KEY, workspace TEXT NOT NULL, name TEXT NOT NULL, record TEXT NOT NULL);
CREATE INDEX journals_by_name ON journals (workspace, name, id);
