//! What a run did over time, a row for each point. What a point has, `report/series.rs` says.

use serde::{Serialize, de::DeserializeOwned};

use super::{State, StateError};

impl State {
    /// The last points, at most this many, in order.
    ///
    /// # Errors
    /// If SQLite fails or a row makes no sense.
    pub(crate) fn series<T: DeserializeOwned>(&self, most: usize) -> Result<Vec<T>, StateError> {
        let mut points = Vec::new();
        let sql =
            "SELECT point FROM (SELECT * FROM series ORDER BY number DESC LIMIT ?) ORDER BY number";
        self.each(
            sql,
            [i64::try_from(most).unwrap_or(i64::MAX)],
            |row| row.get::<_, String>(0),
            |point| {
                let point = serde_json::from_str(&point);
                points
                    .push(point.map_err(|_| {
                        StateError::Damaged("a point of the series makes no sense")
                    })?);
                Ok::<_, StateError>(())
            },
        )?;
        Ok(points)
    }

    /// Adds a point.
    ///
    /// # Errors
    /// If SQLite fails.
    ///
    /// # Panics
    /// Never: numbers can be written as JSON.
    pub(crate) fn add_to_series(&self, point: &impl Serialize) -> Result<(), StateError> {
        let point = serde_json::to_string(point).expect("numbers are JSON");
        self.execute("INSERT INTO series VALUES (NULL, ?)", [point])
    }

    /// Puts these points in place of all.
    ///
    /// # Errors
    /// If SQLite fails.
    pub(crate) fn set_series(&self, points: &[impl Serialize]) -> Result<(), StateError> {
        self.execute("DELETE FROM series", [])?;
        points.iter().try_for_each(|point| self.add_to_series(point))
    }
}
