package server

import (
	"context"
	"database/sql"
	"fmt"
)

// The names are those that the studied service has in each engine. No pair of friends is unique
// there, and none is here.

var postgresSchema = []string{
	`CREATE TABLE IF NOT EXISTS participant (id serial PRIMARY KEY, pname varchar(50) NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS friends (id serial PRIMARY KEY,
		fromid int NOT NULL REFERENCES participant (id), toid int NOT NULL REFERENCES participant (id))`,
	`CREATE INDEX IF NOT EXISTS friends_fromid ON friends (fromid)`,
	`CREATE INDEX IF NOT EXISTS friends_toid ON friends (toid)`,
	`CREATE OR REPLACE FUNCTION UpsertParticipant(who varchar) RETURNS TABLE (new_id int) LANGUAGE plpgsql AS $$
		BEGIN RETURN QUERY INSERT INTO participant (pname) VALUES (who) RETURNING participant.id; END $$`,
	`CREATE OR REPLACE FUNCTION FetchParticipant(who int) RETURNS TABLE (moniker varchar) LANGUAGE plpgsql STABLE AS $$
		BEGIN RETURN QUERY SELECT p.pname FROM participant p WHERE p.id = who; END $$`,
	`CREATE OR REPLACE FUNCTION UpsertFriends(one int, other int) RETURNS TABLE (new_id int) LANGUAGE plpgsql AS $$
		BEGIN RETURN QUERY INSERT INTO friends (fromid, toid) VALUES (one, other) RETURNING friends.id; END $$`,
	`CREATE OR REPLACE FUNCTION FetchFriends(who int) RETURNS TABLE (friends_id int, participant_id int) LANGUAGE plpgsql STABLE AS $$
		BEGIN RETURN QUERY SELECT f.id, f.toid FROM friends f WHERE f.fromid = who
			UNION SELECT f.id, f.fromid FROM friends f WHERE f.toid = who; END $$`,
}

var mysqlSchema = []string{
	`CREATE TABLE IF NOT EXISTS Participant (ParticipantID int NOT NULL AUTO_INCREMENT PRIMARY KEY, Moniker varchar(50) NOT NULL)
		ENGINE = InnoDB DEFAULT CHARSET = utf8mb4`,
	`CREATE TABLE IF NOT EXISTS Friends (FriendsID int NOT NULL AUTO_INCREMENT PRIMARY KEY,
		FromParticipantID int NOT NULL, ToParticipantID int NOT NULL,
		INDEX friends_fromid (FromParticipantID), INDEX friends_toid (ToParticipantID),
		FOREIGN KEY (FromParticipantID) REFERENCES Participant (ParticipantID),
		FOREIGN KEY (ToParticipantID) REFERENCES Participant (ParticipantID)) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4`,
}

// mysqlRoutines are made one by one where they are not there: MySQL before 8.0.29 has no IF NOT
// EXISTS for them.
var mysqlRoutines = map[string]string{
	"UpsertParticipant": `(IN who varchar(50) CHARSET utf8mb4)
		BEGIN INSERT INTO Participant (Moniker) VALUES (who); SELECT LAST_INSERT_ID() AS new_id; END`,
	"FetchParticipant": `(IN who int) READS SQL DATA
		BEGIN SELECT Moniker AS moniker FROM Participant WHERE ParticipantID = who; END`,
	"UpsertFriends": `(IN one int, IN other int)
		BEGIN INSERT INTO Friends (FromParticipantID, ToParticipantID) VALUES (one, other); SELECT LAST_INSERT_ID() AS new_id; END`,
	"FetchFriends": `(IN who int) READS SQL DATA
		BEGIN SELECT FriendsID AS friends_id, ToParticipantID AS participant_id FROM Friends WHERE FromParticipantID = who
			UNION SELECT FriendsID, FromParticipantID FROM Friends WHERE ToParticipantID = who; END`,
}

// migrate makes tables and routines. Servers that start together wait for each other on an advisory
// lock.
func (r *relational) migrate(ctx context.Context) (err error) {
	c, err := r.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	defer c.Close()
	lock := "SELECT pg_advisory_lock(7312027)"
	unlock := "SELECT pg_advisory_unlock(7312027)"
	schema := postgresSchema
	if !r.postgres {
		lock = "SELECT GET_LOCK('newsfeed', 60)"
		unlock = "SELECT RELEASE_LOCK('newsfeed')"
		schema = mysqlSchema
	}
	if _, err := c.ExecContext(ctx, lock); err != nil {
		return fmt.Errorf("taking the lock: %w", err)
	}
	defer func() {
		if _, uerr := c.ExecContext(context.WithoutCancel(ctx), unlock); err == nil && uerr != nil {
			err = fmt.Errorf("releasing the lock: %w", uerr)
		}
	}()
	for _, text := range schema {
		if _, err := c.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("making the schema: %w", err)
		}
	}
	if !r.postgres {
		return makeRoutines(ctx, c)
	}
	return nil
}

func makeRoutines(ctx context.Context, c *sql.Conn) error {
	for name, body := range mysqlRoutines {
		var n int
		if err := c.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.routines WHERE routine_schema = DATABASE() AND routine_name = ?", name).Scan(&n); err != nil {
			return fmt.Errorf("looking for routine %s: %w", name, err)
		}
		if n > 0 {
			continue
		}
		if _, err := c.ExecContext(ctx, "CREATE PROCEDURE "+name+" "+body); err != nil {
			return fmt.Errorf("making routine %s: %w", name, err)
		}
	}
	return nil
}
