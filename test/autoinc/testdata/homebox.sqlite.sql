-- The tables of Homebox, as its migrations for SQLite leave them, written from the catalog.
-- https://github.com/sysadminsmedia/homebox, commit 8222a88d; AGPL-3.0, see schemas/LICENSES.md.

CREATE TABLE "groups" (
	id uuid NOT NULL PRIMARY KEY,
	created_at datetime NOT NULL,
	updated_at datetime NOT NULL,
	name text NOT NULL,
	currency text NOT NULL DEFAULT 'usd'
);
CREATE TABLE group_invitation_tokens (
	id uuid NOT NULL PRIMARY KEY,
	created_at datetime NOT NULL,
	updated_at datetime NOT NULL,
	token blob NOT NULL,
	expires_at datetime NOT NULL,
	uses integer NOT NULL DEFAULT 0,
	group_invitation_tokens uuid REFERENCES "groups" (id) ON DELETE CASCADE
);
CREATE TABLE auth_tokens (
	id uuid NOT NULL PRIMARY KEY,
	created_at datetime NOT NULL,
	updated_at datetime NOT NULL,
	token blob NOT NULL,
	expires_at datetime NOT NULL,
	user_auth_tokens uuid REFERENCES users (id) ON DELETE CASCADE
);
CREATE TABLE auth_roles (
	id integer NOT NULL PRIMARY KEY AUTOINCREMENT,
	role text NOT NULL DEFAULT 'user',
	auth_tokens_roles uuid REFERENCES auth_tokens (id) ON DELETE CASCADE
);
CREATE TABLE notifiers (
	id uuid NOT NULL PRIMARY KEY,
	created_at datetime NOT NULL,
	updated_at datetime NOT NULL,
	name text NOT NULL,
	url text NOT NULL,
	is_active bool NOT NULL DEFAULT true,
	group_id uuid NOT NULL REFERENCES "groups" (id) ON DELETE CASCADE,
	user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE
);
CREATE TABLE user_groups (
	user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	group_id uuid NOT NULL REFERENCES "groups" (id) ON DELETE CASCADE,
	role text NOT NULL DEFAULT 'user',
	PRIMARY KEY (user_id, group_id)
);
CREATE TABLE tags (
	id uuid NOT NULL PRIMARY KEY,
	created_at datetime NOT NULL,
	updated_at datetime NOT NULL,
	name text NOT NULL,
	description text,
	color text,
	group_tags uuid NOT NULL REFERENCES "groups" (id) ON DELETE CASCADE,
	icon varchar(255),
	tag_children uuid REFERENCES tags (id) ON DELETE SET NULL
);
CREATE TABLE entity_types (
	id uuid NOT NULL PRIMARY KEY,
	created_at datetime NOT NULL,
	updated_at datetime NOT NULL,
	name text NOT NULL,
	description text,
	is_location bool NOT NULL DEFAULT false,
	icon text,
	group_entity_types uuid NOT NULL REFERENCES "groups" (id) ON DELETE CASCADE,
	entity_type_default_template uuid REFERENCES entity_templates (id) ON DELETE SET NULL
);
CREATE TABLE entities (
	id uuid NOT NULL PRIMARY KEY,
	created_at datetime NOT NULL,
	updated_at datetime NOT NULL,
	name text NOT NULL,
	description text,
	import_ref text,
	notes text,
	quantity real NOT NULL DEFAULT 1,
	insured bool NOT NULL DEFAULT false,
	archived bool NOT NULL DEFAULT false,
	asset_id bigint NOT NULL DEFAULT 0,
	sync_child_entity_locations bool NOT NULL DEFAULT false,
	serial_number text,
	model_number text,
	manufacturer text,
	lifetime_warranty bool NOT NULL DEFAULT false,
	warranty_expires datetime,
	warranty_details text,
	purchase_date datetime,
	purchase_from text,
	purchase_price real NOT NULL DEFAULT 0,
	sold_date datetime,
	sold_to text,
	sold_price real NOT NULL DEFAULT 0,
	sold_notes text,
	group_entities uuid NOT NULL REFERENCES "groups" (id) ON DELETE CASCADE,
	entity_type_entities uuid NOT NULL REFERENCES entity_types (id) ON DELETE RESTRICT,
	entity_children uuid REFERENCES entities (id) ON DELETE SET NULL
);
CREATE TABLE entity_fields (
	id uuid NOT NULL PRIMARY KEY,
	created_at datetime NOT NULL,
	updated_at datetime NOT NULL,
	name text NOT NULL,
	description text,
	"type" text NOT NULL,
	text_value text,
	number_value integer,
	boolean_value bool NOT NULL DEFAULT false,
	time_value datetime NOT NULL,
	entity_fields uuid REFERENCES entities (id) ON DELETE CASCADE
);
CREATE TABLE tag_entities (
	tag_id uuid NOT NULL REFERENCES tags (id) ON DELETE CASCADE,
	entity_id uuid NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
	PRIMARY KEY (tag_id, entity_id)
);
CREATE TABLE entity_templates (
	id uuid NOT NULL PRIMARY KEY,
	created_at datetime NOT NULL,
	updated_at datetime NOT NULL,
	name text NOT NULL,
	description text,
	notes text,
	default_quantity real NOT NULL DEFAULT 1,
	default_insured bool NOT NULL DEFAULT false,
	default_name text,
	default_description text,
	default_manufacturer text,
	default_model_number text,
	default_lifetime_warranty bool NOT NULL DEFAULT false,
	default_warranty_details text,
	include_warranty_fields bool NOT NULL DEFAULT false,
	include_purchase_fields bool NOT NULL DEFAULT false,
	include_sold_fields bool NOT NULL DEFAULT false,
	default_tag_ids json,
	entity_template_location uuid REFERENCES entities (id) ON DELETE SET NULL,
	group_entity_templates uuid NOT NULL REFERENCES "groups" (id) ON DELETE CASCADE
);
CREATE TABLE template_fields (
	id uuid NOT NULL PRIMARY KEY,
	created_at datetime NOT NULL,
	updated_at datetime NOT NULL,
	name text NOT NULL,
	description text,
	"type" text NOT NULL,
	text_value text,
	number_value integer,
	boolean_value bool DEFAULT false,
	time_value datetime,
	entity_template_fields uuid REFERENCES entity_templates (id) ON DELETE CASCADE
);
CREATE TABLE maintenance_entries (
	id uuid NOT NULL PRIMARY KEY,
	created_at datetime NOT NULL,
	updated_at datetime NOT NULL,
	"date" datetime,
	scheduled_date datetime,
	name text NOT NULL,
	description text,
	cost real NOT NULL DEFAULT 0,
	entity_id uuid NOT NULL REFERENCES entities (id) ON DELETE CASCADE
);
CREATE TABLE attachments (
	id uuid NOT NULL PRIMARY KEY,
	created_at datetime NOT NULL,
	updated_at datetime NOT NULL,
	"type" text NOT NULL DEFAULT 'attachment',
	"primary" bool NOT NULL DEFAULT false,
	path text NOT NULL,
	title text NOT NULL,
	mime_type text NOT NULL DEFAULT 'application/octet-stream',
	entity_attachments uuid REFERENCES entities (id) ON DELETE CASCADE,
	attachment_thumbnail uuid REFERENCES attachments (id) ON DELETE SET NULL
);
CREATE TABLE api_keys (
	id uuid NOT NULL PRIMARY KEY,
	created_at datetime NOT NULL,
	updated_at datetime NOT NULL,
	user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	name text NOT NULL,
	token blob NOT NULL,
	expires_at datetime,
	last_used_at datetime
);
CREATE TABLE users (
	id uuid NOT NULL PRIMARY KEY,
	created_at datetime NOT NULL,
	updated_at datetime NOT NULL,
	name text NOT NULL,
	email text NOT NULL,
	password text,
	is_superuser boolean NOT NULL DEFAULT false,
	superuser boolean NOT NULL DEFAULT false,
	activated_on datetime,
	oidc_issuer text,
	oidc_subject text,
	default_group_id uuid REFERENCES "groups" (id) ON DELETE SET NULL,
	settings json DEFAULT '{}'
);
CREATE TABLE password_reset_tokens (
	id uuid NOT NULL PRIMARY KEY,
	created_at datetime NOT NULL,
	updated_at datetime NOT NULL,
	user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	token blob NOT NULL,
	expires_at datetime NOT NULL,
	used_at datetime
);
CREATE TABLE exports (
	id uuid NOT NULL PRIMARY KEY,
	created_at datetime NOT NULL,
	updated_at datetime NOT NULL,
	kind text NOT NULL DEFAULT 'export',
	status text NOT NULL DEFAULT 'pending',
	progress integer NOT NULL DEFAULT 0,
	artifact_path text,
	size_bytes integer NOT NULL DEFAULT 0,
	error text,
	group_id uuid NOT NULL REFERENCES "groups" (id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX api_keys_token_key ON api_keys (token);
CREATE INDEX apikey_token ON api_keys (token);
CREATE INDEX apikey_user_id ON api_keys (user_id);
CREATE UNIQUE INDEX auth_roles_auth_tokens_roles_key ON auth_roles (auth_tokens_roles);
CREATE UNIQUE INDEX auth_tokens_token_key ON auth_tokens (token);
CREATE INDEX authtokens_token ON auth_tokens (token);
CREATE INDEX entity_archived ON entities (archived);
CREATE INDEX entity_asset_id ON entities (asset_id);
CREATE INDEX entity_manufacturer ON entities (manufacturer);
CREATE INDEX entity_model_number ON entities (model_number);
CREATE INDEX entity_name ON entities (name);
CREATE INDEX entity_serial_number ON entities (serial_number);
CREATE INDEX export_group_id ON exports (group_id);
CREATE INDEX export_group_id_status ON exports (group_id, status);
CREATE UNIQUE INDEX group_invitation_tokens_token_key ON group_invitation_tokens (token);
CREATE INDEX idx_attachments_entity_id ON attachments (entity_attachments);
CREATE INDEX idx_attachments_path ON attachments (path);
CREATE INDEX idx_attachments_thumbnail ON attachments (attachment_thumbnail);
CREATE INDEX idx_attachments_type ON attachments ("type");
CREATE INDEX notifier_group_id ON notifiers (group_id);
CREATE INDEX notifier_group_id_is_active ON notifiers (group_id, is_active);
CREATE INDEX notifier_user_id ON notifiers (user_id);
CREATE INDEX notifier_user_id_is_active ON notifiers (user_id, is_active);
CREATE UNIQUE INDEX password_reset_tokens_token_key ON password_reset_tokens (token);
CREATE INDEX passwordresettokens_user_id ON password_reset_tokens (user_id);
CREATE UNIQUE INDEX users_email_key ON users (email);
CREATE UNIQUE INDEX users_oidc_issuer_subject_key ON users (oidc_issuer, oidc_subject);
